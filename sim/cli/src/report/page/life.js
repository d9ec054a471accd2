// The life of a line as a message sequence, with what happened around a moment.
view('lines', 'Lines', () => {
  const with_ = logs.filter(log => log.lines.length);
  if (!with_.length) return el('p', {}, 'No event log is given: weft run ... --events FILE.');
  return with_.map(log => el('section', {}, el('h3', {}, `${log.workload} on ${log.fabric}`), lives(log)));
});

function lives(log) {
  const place = el('div'), shown = {message: true, row: true, race: true, block: ''};
  let chosen = 0;
  const draw = () => place.replaceChildren(life(log, log.lines[chosen], shown));
  const title = line => `${line.address}${line.contents ? '  ' + line.contents : ''}  (${num(line.events)} events)`;
  const search = el('input', {type: 'search', placeholder: 'block', 'aria-label': 'only blocks whose name contains', oninput: () => { shown.block = search.value; draw(); }});
  const controls = el('div', {class: 'controls'}, choose('line', log.lines.map((line, i) => [String(i), title(line)]), '0', v => { chosen = Number(v); draw(); }),
    ...['message', 'row', 'race'].map(kind => toggle(kind + 's', true, v => { shown[kind] = v; draw(); })), search);
  draw();
  return [note(log.cut), controls, place];
}

const STEP = 27, COLUMN = 132, LEFT = 92;
function life(log, line, shown) {
  const name = actor => log.actors[actor];
  const wanted = m => shown[m.kind] && (!shown.block || [m.from, m.to].some(a => a !== null && name(a).includes(shown.block)));
  const moments = line.moments.filter(wanted);
  const actors = [...new Set(line.moments.flatMap(m => m.to === null ? [m.from] : [m.from, m.to]))];
  const used = actors.filter(a => moments.some(m => m.from === a || m.to === a));
  const x = actor => LEFT + COLUMN * (used.indexOf(actor) + .5), width = LEFT + COLUMN * used.length + 130;
  const detail = el('div', {class: 'detail empty', 'aria-live': 'polite'}, el('p', {class: 'soft'}, 'Choose a moment to see all of it, and what its blocks did around it.'));
  const names = svg('svg', {width, height: 30, viewBox: `0 0 ${width} 30`}, svg('text', {x: 8, y: 19, class: 'soft'}, 'cycle'),
    used.map(a => svg('text', {x: x(a), y: 19, 'text-anchor': 'middle'}, clip(name(a), 18), svg('title', {}, name(a)))));
  let y = 0, step = null;
  const body = [], picks = [];
  for (const moment of moments) {
    const now = log.steps.findLast(s => s.start <= moment.cycle);
    if (now && now !== step) {
      step = now; y += STEP + 8;
      body.push(svg('path', {d: `M0 ${y - 5}H${width}`, class: 'grid', 'stroke-dasharray': '2 4'}), svg('text', {x: 8, y: y - 9, class: 'soft'}, `${now.name}, from ${num(now.start)}`));
    }
    y += STEP;
    const group = draw(moment, y);
    picks.push(group); body.push(group);
  }
  const height = y + 14;
  const lifelines = used.map(a => svg('path', {d: `M${x(a)} 0V${height}`, class: 'grid'}));
  const chart = svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`, class: 'sequence'}, lifelines, body);

  function draw(moment, at) {
    const pick = () => {
      picks.forEach(other => other.classList.toggle('chosen', other === group));
      detail.classList.remove('empty');
      detail.replaceChildren(...describe(log, line, moment));
    };
    const keys = event => {
      if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); pick(); }
      const to = {ArrowDown: 1, ArrowUp: -1}[event.key];
      const next = to && picks[picks.indexOf(group) + to];
      if (next) { event.preventDefault(); next.focus(); }
    };
    const label = `cycle ${moment.cycle}: ${name(moment.from)}${moment.to === null ? '' : ' to ' + name(moment.to)}: ${moment.what}`;
    const group = svg('g', {class: 'moment', tabindex: 0, role: 'button', 'aria-label': label, onclick: pick, onkeydown: keys},
      svg('rect', {class: 'hit', x: 1, y: at - 17, width: width - 2, height: STEP - 2}), svg('text', {x: 76, y: at, 'text-anchor': 'end', class: 'soft'}, num(moment.cycle)));
    if (moment.to === null) {
      const race = moment.kind === 'race', text = clip(moment.what.split('.').slice(race ? 2 : 1).join('.') || moment.what, 40);
      group.append(svg('circle', {cx: x(moment.from), cy: at - 4, r: 5, class: race ? 'rowmark race' : 'rowmark'}), svg('text', {x: x(moment.from) + 10, y: at, class: race ? 'racetext' : 'rowtext'}, text));
      return group;
    }
    const [a, b] = [x(moment.from), x(moment.to)], way = b === a ? 1 : Math.sign(b - a);
    const text = moment.what + (moment.details ? ' ' + moment.details : ''), room = Math.max(14, Math.floor(Math.abs(b - a) / 6.6) - 2);
    group.append(svg('path', {d: b === a ? `M${a} ${at - 2}h22v8h-22` : `M${a} ${at + 2}H${b - 6 * way}`, class: moment.asked === null ? 'arrow' : 'arrow answer'}),
      svg('path', {d: `M${b} ${at + 2}l${-8 * way} -4v8z`, class: 'head'}), svg('text', {x: (a + b) / 2, y: at - 3, 'text-anchor': 'middle'}, clip(text, room), svg('title', {}, text)));
    return group;
  }
  return el('div', {},
    el('p', {class: 'soft'}, `${num(line.moments.length)} moments` + (line.left_out ? `; ${num(line.left_out)} earlier ones are left out` : '') + '. Solid arrows ask, dashed ones answer; green circles are rows of transition tables, red ones races. Times are those of sending.'),
    el('div', {class: 'life', tabindex: -1}, el('div', {class: 'names'}, names), chart), detail);
}

function describe(log, line, moment) {
  const name = actor => log.actors[actor];
  const rows = moment.to === null
    ? [['cycle', num(moment.cycle)], ['block', name(moment.from)], [moment.kind, moment.what], ['meaning', moment.details]]
    : [['sent in cycle', num(moment.cycle)], ['from', name(moment.from)], ['to', name(moment.to)], ['message', moment.what], ['fields', moment.details || 'none that say anything'],
      ...(moment.via.length ? [['by way of', moment.via.map(name).join(', ')], ['there in cycle', num(moment.arrives)]] : []),
      ...(moment.answered !== null ? [['answered in cycle', `${num(moment.answered)}, after ${num(moment.answered - moment.cycle)}`]] : []),
      ...(moment.asked !== null ? [['asked for in cycle', num(moment.asked)]] : [])];
  return [el('dl', {}, rows.flatMap(([term, text]) => [el('dt', {}, term), el('dd', {}, text)])), around(log, line, moment)];
}

/** Transfers on the channels of the moment's blocks, cycle by cycle. */
function around(log, line, moment) {
  const before = 6, after = 22, first = Math.max(0, moment.cycle - before), actors = [moment.from, moment.to, ...moment.via].filter(a => a !== null);
  const near = line.activity.filter(([cycle, channel]) => cycle >= first && cycle <= moment.cycle + after && channelOf(log, channel).some(a => actors.includes(a)));
  const lanes = [...new Set(near.map(([, channel]) => channel))].sort((a, b) => a - b).slice(0, 16);
  if (!lanes.length) return el('p', {class: 'soft'}, 'What its channels did around it is not on this page.');
  const cell = 34, left = 300, width = left + cell * (before + after + 1) + 8, height = 26 + lanes.length * 24;
  const out = svg('svg', {width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': 'transfers around this moment', class: 'waves'});
  for (let c = first; c <= moment.cycle + after; c++) {
    const x = left + cell * (c - first);
    if (c === moment.cycle) out.append(svg('rect', {x, y: 18, width: cell, height: height - 18, fill: 'var(--mine)'}));
    out.append(svg('path', {d: `M${x} 18V${height}`, class: 'grid'}));
    if ((c - moment.cycle) % 4 === 0) out.append(svg('text', {x: x + 2, y: 13, class: 'soft'}, num(c)));
  }
  lanes.forEach((lane, i) => {
    const y = 22 + i * 24, [from, to] = channelOf(log, lane);
    const label = `${name_(log, from)} → ${name_(log, to)}`;
    out.append(svg('text', {x: left - 8, y: y + 15, 'text-anchor': 'end'}, clip(label, 46), svg('title', {}, label)), svg('path', {d: `M${left} ${y + 19}H${width - 8}`, class: 'grid'}));
    for (const [cycle, channel, what, mine] of near) {
      if (channel !== lane) continue;
      const x = left + cell * (cycle - first);
      out.append(svg('rect', {x: x + 1, y: y + 3, width: cell - 2, height: 16, rx: 3, fill: mine ? 'var(--c0)' : 'var(--c6)'}, svg('title', {}, `${log.words[what]} in cycle ${cycle}` + (mine ? '' : ', of another line'))),
        svg('text', {x: x + cell / 2, y: y + 15, 'text-anchor': 'middle', style: 'fill: var(--paper); font-size: 10px; pointer-events: none'}, clip(log.words[what], 5)));
    }
  });
  return el('div', {}, el('h3', {}, 'Transfers around it'), el('p', {class: 'soft'}, 'One box is a message that went over; blue ones are of this line.'), el('div', {class: 'scroll'}, out));
}
const channelOf = (log, channel) => log.channels[channel];
const name_ = (log, actor) => log.actors[actor];
