// The life of a line as a message sequence, with what happened around a moment.
view('lines', 'Lines', () => {
  const with_ = logs.filter(log => log.lines.length);
  if (!with_.length) return el('p', {}, 'No event log is given: weft run ... --events FILE.');
  return with_.map(log => el('section', {}, el('h3', {}, `${log.workload} on ${log.fabric}`), lives(log)));
});

function lives(log) {
  const place = el('div'), shown = {message: true, row: true, race: true, block: '', text: false};
  let chosen = 0;
  const draw = () => place.replaceChildren(life(log, log.lines[chosen], shown));
  const title = line => `${line.address}${line.contents ? '  ' + line.contents : ''}  (${num(line.events)} events)`;
  const search = el('input', {type: 'search', placeholder: 'block', 'aria-label': 'only blocks whose name contains', oninput: () => { shown.block = search.value; draw(); }});
  const controls = el('div', {class: 'controls'}, choose('line', log.lines.map((line, i) => [String(i), title(line)]), '0', v => { chosen = Number(v); draw(); }),
    ...['message', 'row', 'race'].map(kind => toggle(kind + 's', true, v => { shown[kind] = v; draw(); })), search, toggle('as text', false, v => { shown.text = v; draw(); }));
  draw();
  return [note(log.cut), controls, place];
}

/** Widest picture that can be read on paper; a wider one is printed as text. */
const PAPER = 1150;
const STEP = 27, COLUMN = 122, LEFT = 92;
/** Columns stand as a request goes: GPU by GPU, or device by device, in each compute units, L1s, L2s, directories; then what all share. */
const ROLES = [/cu\d*$|core\d*$|cpu\d*$/, /l1|cache/, /tu\d*$/, /bank|l2|llc/, /dir|tsu|hub/, /mem|dram|umc/];
const SHARED = 1e6;
function place(log, line, actor) {
  const role = ROLES.findIndex(test => test.test(log.actors[actor].split('.').pop()));
  const number = name => { const found = /^(?:gpu|device)(\d+)/.exec(name); return found ? Number(found[1]) : SHARED; };
  // A model outside stands with the block that it talks to.
  const partner = line.moments.find(m => m.from === actor && m.to !== null) || line.moments.find(m => m.to === actor);
  const block = log.models[actor] && partner ? (partner.from === actor ? partner.to : partner.from) : actor;
  return [number(log.actors[block]), role < 0 ? 3.5 : role];
}
function inOrder(log, line, actors) {
  const key = new Map(actors.map(a => [a, place(log, line, a)]));
  return [...actors].sort((a, b) => key.get(a)[0] - key.get(b)[0] || key.get(a)[1] - key.get(b)[1] || log.actors[a].localeCompare(log.actors[b], 'en', {numeric: true}));
}
/** A moment in one line of text. */
function tell(log, m) {
  const name = actor => log.actors[actor];
  return m.to === null ? `${name(m.from)}: ${m.kind} ${m.what}, ${m.details}` : `${name(m.from)} → ${name(m.to)}: ${m.what}${m.details ? ` {${m.details}}` : ''}`;
}
/** What a moment is the consequence of, back to who asked, itself first. */
function chain(line, number) {
  const out = [];
  for (let at = number; at !== null && at !== undefined; at = line.reasons[at]) out.push(at);
  return out;
}
/** Who read and wrote the line, and what took copies of it away by which row. */
function story(log, line, pick) {
  const users = inOrder(log, line, line.users.map(user => user.actor)).map(actor => line.users.find(user => user.actor === actor));
  const go = number => el('button', {class: 'go', onclick: () => pick(number)}, num(line.moments[number].cycle));
  const out = [];
  if (users.length) {
    const ops = [...new Set(users.flatMap(user => Object.keys(user.ops)))];
    out.push(el('h3', {}, 'Read and written by'), table(['who', ...ops, 'first in cycle', 'last in cycle', 'by'],
      users.map(user => [log.actors[user.actor], ...ops.map(op => user.ops[op] || ''), user.first, user.last, user.by]), c => c > 0 && c < ops.length + 3));
  }
  if (line.takes.length) {
    const most = 12, shown = line.takes.slice(-most);
    out.push(el('h3', {}, 'Taken away'), line.takes.length > most ? note(`The last ${most} of ${num(line.takes.length)}; the others are among the moments below.`) : null,
      table(['cycle', 'message', 'from', 'to', 'decided by row', 'because of'], shown.map(number => {
        const m = line.moments[number], way = chain(line, number).slice(1), row = way.map(n => line.moments[n]).find(o => o.kind === 'row');
        const root = way.length ? line.moments[way[way.length - 1]] : null;
        return [go(number), m.what + (m.details ? ` {${m.details}}` : ''), log.actors[m.from], log.actors[m.to], row ? el('span', {title: row.details}, el('code', {}, row.what)) : '', root ? `${num(root.cycle)}: ${tell(log, root)}` : ''];
      }), c => c === 0));
  }
  return out;
}
function life(log, line, shown) {
  const name = actor => log.actors[actor];
  const wanted = m => shown[m.kind] && (!shown.block || [m.from, m.to].some(a => a !== null && name(a).includes(shown.block)));
  const moments = line.moments.filter(wanted);
  const actors = [...new Set(line.moments.flatMap(m => m.to === null ? [m.from] : [m.from, m.to]))];
  const used = inOrder(log, line, actors.filter(a => moments.some(m => m.from === a || m.to === a)));
  const x = actor => LEFT + COLUMN * (used.indexOf(actor) + .5), width = LEFT + COLUMN * used.length + 130;
  const detail = el('div', {class: 'detail empty', 'aria-live': 'polite'}, el('p', {class: 'soft'}, 'Choose a moment to see all of it, and what its blocks did around it.'));
  const names = svg('svg', {width, height: 30, viewBox: `0 0 ${width} 30`}, svg('text', {x: 8, y: 19, class: 'soft'}, 'cycle'),
    used.map(a => svg('text', {x: x(a), y: 19, 'text-anchor': 'middle'}, clip(name(a), 17), svg('title', {}, name(a)))));
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
      svg('path', {d: `M${b} ${at + 2}l${-8 * way} -4v8z`, class: 'head'}));
    // Of a long arrow the text stands where it begins, so that it is seen beside its sender.
    const long = Math.abs(b - a) > 2 * COLUMN, anchor = !long ? 'middle' : way > 0 ? 'start' : 'end';
    group.append(svg('text', {x: long ? a + 8 * way : (a + b) / 2, y: at - 3, 'text-anchor': anchor}, clip(text, Math.min(room, 60)), svg('title', {}, text)));
    return group;
  }
  /** Shows a moment by its number among all of the line. */
  const jump = number => {
    const group = picks[moments.indexOf(line.moments[number])];
    if (!group) return;
    group.dispatchEvent(new MouseEvent('click'));
    group.scrollIntoView({block: 'center'});
  };
  return el('div', {}, story(log, line, jump), el('h3', {}, 'All of it'),
    el('p', {class: 'soft'}, `${num(line.moments.length)} moments` + (line.left_out ? `; ${num(line.left_out)} earlier ones are left out` : '') + (line.later ? `; ${num(line.later)} later ones are left out` : '') + '. Solid arrows ask, dashed ones answer; green circles are rows of transition tables, red ones races. Times are those of sending.'),
    el('div', {class: 'life' + (shown.text ? ' hidden' : '') + (width > PAPER ? ' wide' : ''), tabindex: -1}, el('div', {class: 'names'}, names), chart),
    shown.text || width > PAPER ? el('div', {class: shown.text ? 'astext' : 'astext onpaper'}, table(['cycle', 'what', 'answered'],
      moments.map(m => [m.cycle, tell(log, m), m.answered === null ? '' : `in ${num(m.answered)}`]), c => c === 0)) : null, detail);
}

function describe(log, line, moment) {
  const name = actor => log.actors[actor];
  const rows = moment.to === null
    ? [['cycle', num(moment.cycle)], ['block', name(moment.from)], [moment.kind, moment.what], ['meaning', moment.details]]
    : [['sent in cycle', num(moment.cycle)], ['from', name(moment.from)], ['to', name(moment.to)], ['message', moment.what], ['fields', moment.details || 'none that say anything'],
      ...(moment.via.length ? [['by way of', moment.via.map(name).join(', ')], ['there in cycle', num(moment.arrives)]] : []),
      ...(moment.answered !== null ? [['answered in cycle', `${num(moment.answered)}, after ${num(moment.answered - moment.cycle)}`]] : []),
      ...(moment.asked !== null ? [['asked for in cycle', num(moment.asked)]] : [])];
  const way = chain(line, line.moments.indexOf(moment)).slice(1);
  const because = way.length ? [el('h3', {}, 'Because of, the newest first'), el('ol', {class: 'because'}, way.map(n => el('li', {}, `${num(line.moments[n].cycle)}  ${tell(log, line.moments[n])}`)))] : [];
  return [el('dl', {}, rows.flatMap(([term, text]) => [el('dt', {}, term), el('dd', {}, text)])), because, around(log, line, moment)].flat(2);
}

/** Channels of a waveform. */
const LANES = 16;
/** Transfers on the channels of the moment's blocks, cycle by cycle. */
function around(log, line, moment) {
  const before = 6, after = 22, first = Math.max(0, moment.cycle - before), actors = [moment.from, moment.to, ...moment.via].filter(a => a !== null);
  const near = line.activity.filter(([cycle, channel]) => cycle >= first && cycle <= moment.cycle + after && channelOf(log, channel).some(a => actors.includes(a)));
  const all = [...new Set(near.map(([, channel]) => channel))].sort((a, b) => a - b), lanes = all.slice(0, LANES);
  if (!lanes.length) return el('p', {class: 'soft'}, 'What its channels did around it is not on this page' + (line.activity_end !== null && moment.cycle >= line.activity_end ? `, which holds it up to cycle ${num(line.activity_end)} of this line` : '') + '.');
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
  const cut = [all.length > LANES ? `${all.length - LANES} channels more took part and are not shown.` : '', line.activity_end !== null && moment.cycle + after >= line.activity_end ? `Transfers from cycle ${num(line.activity_end)} on are not on this page.` : ''].filter(Boolean).join(' ');
  return el('div', {}, el('h3', {}, 'Waveform around it'), el('p', {class: 'soft'}, 'One box is a message that went over; blue ones are of this line.'), cut ? note(cut) : null, el('div', {class: 'scroll'}, out));
}
const channelOf = (log, channel) => log.channels[channel];
const name_ = (log, actor) => log.actors[actor];
