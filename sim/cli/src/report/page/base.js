'use strict';
// What all views share: building elements, numbers, colours, tabs. Text from files only ever becomes text nodes.
const D = JSON.parse(document.getElementById('data').textContent);

function add(node, children) {
  for (const child of children.flat(9)) if (child !== null && child !== undefined) node.append(child);
  return node;
}
function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value === true ? '' : value);
  }
  return add(node, children);
}
function svg(tag, attributes, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  return add(node, children);
}
const words = name => String(name).replaceAll('_', ' ').replaceAll('.', ' · ');
const num = value => typeof value !== 'number' ? String(value) : Number.isInteger(value)
  ? value.toLocaleString('en-US').replaceAll(',', '\u202f') : Math.abs(value) >= 100 ? value.toFixed(1) : String(Number(value.toPrecision(4)));
const percent = part => (100 * part).toFixed(1) + '\u202f%';
const colour = number => `var(--c${number % 9})`;
const clip = (text, length) => text.length > length ? text.slice(0, length - 1) + '…' : text;
const note = text => el('p', {class: 'note'}, text);

function table(head, rows, numeric) {
  const right = column => numeric && numeric(column) ? 'n' : null;
  const cell = (value, column) => value instanceof Node ? el('td', {class: right(column)}, value) : el('td', {class: right(column)}, typeof value === 'number' ? num(value) : value);
  return el('div', {class: 'scroll'}, el('table', {},
    el('thead', {}, el('tr', {}, head.map((name, column) => el('th', {scope: 'col', class: right(column)}, name)))),
    el('tbody', {}, rows.map(row => el('tr', {class: row.differs ? 'differs' : null}, (row.cells || row).map(cell))))));
}
function legend(entries) {
  return el('ul', {class: 'legend'}, entries.map(([name, fill]) => {
    const patch = el('i'); patch.style.background = fill;
    return el('li', {}, patch, name);
  }));
}
function choose(label, options, chosen, changed) {
  const select = el('select', {onchange: () => changed(select.value), 'aria-label': label}, options.map(([value, text]) => el('option', {value, selected: value === chosen}, text)));
  return el('label', {}, label + ' ', select);
}
function toggle(label, on, changed) {
  const box = el('input', {type: 'checkbox', checked: on, onchange: () => changed(box.checked)});
  return el('label', {}, box, ' ' + label);
}
/** Largest round number of which `max` is not more than ten. */
function step(max, parts) {
  const raw = max / parts, power = 10 ** Math.floor(Math.log10(raw || 1));
  return [1, 2, 5, 10].map(m => m * power).find(s => s >= raw) || power;
}
function runName(run, all) {
  const same = all.filter(other => other.workload === run.workload && other.fabric === run.fabric && other.protocol === run.protocol);
  const alike = same.filter(other => other.told === run.told);
  return `${run.workload} · ${run.protocol || run.fabric}` + (same.length > 1 && run.told ? ` · ${run.told}` : '') + (alike.length > 1 ? ` · ${run.file}` : '');
}

const views = [];
/** Adds a view; `build` gives its content when it is first needed. */
function view(id, title, build) { views.push({id, title, build}); }

function show(id, focus) {
  for (const one of views) {
    const on = one.id === id;
    one.panel.classList.toggle('shown', on);
    one.tab.setAttribute('aria-selected', on);
    one.tab.tabIndex = on ? 0 : -1;
    if (on) { fill(one); if (focus) one.tab.focus(); }
  }
}
function fill(one) {
  if (!one.filled) { one.filled = true; add(one.panel, [el('h2', {}, one.title), one.build()]); }
}
function start() {
  const tabs = document.getElementById('tabs'), main = document.getElementById('main');
  views.forEach((one, number) => {
    const move = event => {
      const to = {ArrowRight: number + 1, ArrowLeft: number - 1, Home: 0, End: views.length - 1}[event.key];
      if (to === undefined) return;
      event.preventDefault();
      open(views[(to + views.length) % views.length].id, true);
    };
    const open = (id, focus) => { history.replaceState(null, '', '#' + id); show(id, focus); };
    one.tab = el('button', {role: 'tab', id: 'tab-' + one.id, 'aria-controls': 'view-' + one.id, onclick: () => open(one.id), onkeydown: move}, one.title);
    one.panel = el('section', {class: 'view', id: 'view-' + one.id, role: 'tabpanel', 'aria-labelledby': 'tab-' + one.id});
    tabs.append(one.tab); main.append(one.panel);
  });
  document.getElementById('about').textContent = D.about;
  const wanted = () => views.find(one => '#' + one.id === location.hash) || views[0];
  window.addEventListener('hashchange', () => show(wanted().id));
  window.addEventListener('beforeprint', () => views.forEach(fill));
  show(wanted().id);
  // A printer that does not announce itself gets everything too.
  if (window.matchMedia('print').matches) views.forEach(fill);
}
