// Tables and charts of runs, sweeps and links.
const runs = D.runs, sweeps = D.sweeps, logs = D.logs;

view('summary', 'Summary', () => {
  const out = [];
  if (runs.length) {
    const verdict = run => run.verified ? el('span', {class: 'good'}, 'verified') : el('span', {class: 'bad'}, run.stale ? 'stale' : 'wrong');
    out.push(el('h3', {}, 'Runs'), table(['program', 'graph and parameters', 'fabric', 'protocol', 'cycles', 'result', 'simulated in', 'file'],
      runs.map(run => [run.workload, run.told, run.fabric, run.protocol || '', run.cycles, verdict(run), num(run.wall_seconds) + ' s', run.file]), c => c === 4 || c === 6));
    for (const run of runs.filter(r => r.difference)) out.push(note(`${runName(run, runs)}: ${run.difference}`));
    const first = runs.filter(run => run.summary);
    if (first.length) out.push(el('h3', {}, 'In short'), side(first, run => new Map(run.summary), 'what'));
    const all = side(runs, run => new Map(figures(run.metrics)), 'figure', meanings());
    out.push(first.length ? el('details', {}, el('summary', {}, 'All figures'), all) : all);
    for (const run of runs.filter(r => r.kernels.length)) {
      out.push(el('details', {}, el('summary', {}, `${runName(run, runs)}: kernels and host copies (${run.kernels.length})`),
        table(['step', 'begins', 'ends', 'cycles'], run.kernels.map(k => [k.name, k.start, k.end, k.end - k.start]), c => c > 0)));
    }
  }
  for (const sweep of sweeps) {
    out.push(el('h3', {}, 'Sweep ' + sweep.file), el('p', {}, `${num(sweep.total)} runs, ${num(sweep.ok)} of them verified.`));
    if (sweep.cut) out.push(note(sweep.cut));
  }
  for (const log of logs) {
    out.push(el('h3', {}, 'Event log ' + log.file),
      el('p', {}, `${log.workload}${log.told ? ` (${log.told})` : ''} on ${log.fabric}: ${num(log.messages)} messages and ${num(log.rows)} rows and races, cycles ${num(log.from)} to ${num(log.end)}` + (log.scope.length ? `, of ${log.scope.join(', ')} only.` : '.')));
    log.notes.forEach(text => out.push(note(text)));
  }
  return out;
});
/** Numbers of a record as rows; parts get the name of their figure in front. */
function figures(metrics) {
  return Object.entries(metrics).flatMap(([name, value]) => Array.isArray(value) ? [] : value !== null && typeof value === 'object'
    ? Object.entries(value).map(([part, v]) => [words(name) + ' · ' + words(part), v, name + '.' + part]) : [[words(name), value, name]]);
}
/** Unit and meaning of figures, by how they are called in tables. */
function meanings() {
  return new Map(runs.flatMap(run => figures(run.metrics).map(([shown, , name]) => [shown, run.meanings[name] || ['', '']])));
}

/** A row for each name, a column for each run; behind them unit and meaning, if these are given. */
function side(of, values, title, about) {
  const all = of.map(values), names = [...new Set(all.flatMap(map => [...map.keys()]))];
  return table([title, ...of.map(run => of.length > 1 ? runName(run, of) : 'value'), ...(about ? ['unit', 'what it is'] : [])],
    names.map(name => [name, ...all.map(map => map.has(name) ? map.get(name) : ''), ...(about ? about.get(name) : [])]), c => c > 0 && c <= of.length);
}

view('comparison', 'Comparison', () => {
  const out = [];
  const groups = Map.groupBy ? Map.groupBy(runs, run => run.workload) : runs.reduce((m, r) => m.set(r.workload, [...(m.get(r.workload) || []), r]), new Map());
  if (runs.length > 1) {
    out.push(el('h3', {}, 'Cycles of the runs'), el('p', {class: 'soft'}, 'Shorter is faster; behind each bar cycles, and the ratio to the first run of the program.'));
    for (const [program, of] of groups) {
      out.push(el('h3', {}, program), bars(of.map((run, i) => ({name: runName(run, runs).replace(program + ' · ', ''), value: run.cycles, fill: colour(i), text: `${num(run.cycles)}  (${(run.cycles / of[0].cycles).toFixed(3)})`}))));
    }
  }
  sweeps.forEach(sweep => out.push(sweepView(sweep)));
  if (!out.length) out.push(el('p', {}, 'Give results of several runs, or a table of weft sweep, to compare them.'));
  return out;
});
function bars(entries, left = 250) {
  const max = Math.max(...entries.map(e => e.value), 1e-9), width = 1100, height = entries.length * 26 + 6;
  const out = svg('svg', {viewBox: `0 0 ${width} ${height}`, class: 'wide', role: 'img', 'aria-label': entries.map(e => `${e.name}: ${e.text}`).join('; ')});
  entries.forEach((e, i) => {
    const y = i * 26 + 4, w = Math.max(1, (width - left - 190) * e.value / max);
    out.append(svg('text', {x: left - 8, y: y + 14, 'text-anchor': 'end'}, clip(e.name, Math.floor(left / 6.5)), svg('title', {}, e.name)),
      svg('rect', {x: left, y, width: w, height: 19, fill: e.fill, rx: 2}), svg('text', {x: left + w + 6, y: y + 14}, e.text));
  });
  return el('div', {class: 'scroll'}, out);
}
function sweepView(sweep) {
  const at = name => sweep.columns.indexOf(name), cell = (row, name) => row[at(name)];
  const axes = sweep.columns.filter(name => name.startsWith('axis.') && new Set(sweep.rows.map(row => cell(row, name))).size > 1).map(n => n.slice(5));
  const axisKeys = axes.flatMap(axis => [axis]).concat('run', 'seed', 'identity', 'verified');
  const numeric = sweep.columns.filter(name => !name.startsWith('axis.') && !axisKeys.includes(name) && sweep.rows.some(row => cell(row, name) !== '' && isFinite(cell(row, name))));
  let metric = numeric.includes('cycles') ? 'cycles' : numeric[0];
  let series = axes.includes('protocol') ? 'protocol' : axes[axes.length - 1], relative = true;
  // What a group of bars is of: what was run, as far as it differs, and the other axes.
  const distinct = name => at(name) < 0 ? [] : [...new Set(sweep.rows.map(row => cell(row, name)))];
  const several = name => distinct('workload').some(w => new Set(sweep.rows.filter(row => cell(row, 'workload') === w).map(row => at(name) < 0 ? '' : cell(row, name))).size > 1);
  const program = ['fabric', 'workload', 'graph', 'params'].filter(name => name === 'workload' || name === 'fabric' ? distinct(name).length > 1 || name === 'workload' : several(name));
  const place = el('div'), box = el('section', {}, el('h3', {}, 'Sweep ' + sweep.file));
  const draw = () => {
    const rest = axes.filter(axis => axis !== series), groups = new Map();
    for (const row of sweep.rows.filter(row => cell(row, 'status') === 'ok' || cell(row, 'status') === 'stale')) {
      const key = [...program.map(name => cell(row, name)), ...rest.filter(axis => axis !== 'workload').map(axis => `${words(axis)} ${cell(row, 'axis.' + axis)}`)].filter(Boolean).join(' · ');
      if (!groups.has(key)) groups.set(key, new Map());
      groups.get(key).set(series ? cell(row, 'axis.' + series) : cell(row, 'workload'), Number(cell(row, metric)));
    }
    const names = [...new Set([...groups.values()].flatMap(g => [...g.keys()]))];
    const parts = [legend(names.map((n, i) => [n, colour(i)]))];
    const ratios = new Map(names.map(name => [name, []]));
    for (const [group, values] of groups) {
      const base = values.get(names[0]);
      for (const [name, value] of values) if (base > 0 && value > 0) ratios.get(name).push(value / base);
      parts.push(el('h3', {}, group), bars([...values].map(([name, value]) => {
        const shown = relative && base ? value / base : value;
        return {name, value: shown, fill: colour(names.indexOf(name)), text: relative && base ? shown.toFixed(3) : num(value)};
      })));
    }
    const mean = list => list.length ? Math.exp(list.reduce((s, x) => s + Math.log(x), 0) / list.length).toFixed(3) : '';
    const means = table([series || 'program', `geometric mean of ${words(metric)} over that of ${names[0]}`, 'of'], names.map(name => [name, mean(ratios.get(name)), ratios.get(name).length]), c => c > 0);
    place.replaceChildren(...(groups.size > 1 && names.length > 1 ? [means] : []), ...parts);
  };
  const controls = el('div', {class: 'controls'}, choose('show', numeric.map(n => [n, words(n)]), metric, v => { metric = v; draw(); }),
    axes.length > 1 ? choose('compare', axes.map(a => [a, words(a)]), series, v => { series = v; draw(); }) : null,
    toggle('relative to the first', relative, v => { relative = v; draw(); }));
  draw();
  return add(box, [controls, place]);
}

const CLASSES = ['no_stall', 'memory_structural', 'memory_data', 'synchronization', 'compute_structural', 'compute_data', 'control', 'idle'];
const classColour = name => ({no_stall: 'var(--c2)', memory_structural: 'var(--c1)', memory_data: 'var(--c0)', synchronization: 'var(--c5)', compute_structural: 'var(--c7)', compute_data: 'var(--c3)', control: 'var(--c4)', idle: 'var(--c6)'})[name];
/** The class, or the part of one, that a count is a part of. */
const partOf = name => ['kernel_flush', 'between_kernels'].includes(name) ? 'idle' : name.startsWith('memory_data.far_') ? name.replace('far_', '') : name.includes('.') ? name.split('.')[0] : null;
/** Rows of counts, each behind what it is a part of and further in, so that what stands side by side adds up. */
function stallRows(sum, of = null, depth = 0) {
  const here = of === null ? CLASSES : Object.keys(sum).filter(name => partOf(name) === of);
  return here.filter(name => sum[name] > 0).flatMap(name => [
    ['\u2003'.repeat(depth) + (depth ? 'of it ' : '') + words(depth ? name.split('.').pop() : name), percent(sum[name] / sum.ticks)],
    ...stallRows(sum, name, depth + 1)]);
}
view('stalls', 'Stalls', () => {
  const with_ = runs.filter(run => run.stalls);
  if (!with_.length) return el('p', {}, 'No run with stall inspection is given: weft run ... --json FILE, with key gsi on.');
  const out = [el('p', {class: 'soft'}, 'Every tick of every compute unit has one class: an operation issued, or what kept the first one that could have.'),
    legend(CLASSES.map(name => [words(name), classColour(name)]))];
  out.push(stacked(with_.map(run => ({name: runName(run, runs), of: run.stalls.sum}))));
  out.push(side(with_, run => new Map(stallRows(run.stalls.sum)), 'share of ticks'));
  for (const run of with_) {
    const at = name => run.stalls.columns.indexOf(name) + 1, row = list => ({name: list[0], of: Object.fromEntries(CLASSES.concat('ticks').map(name => [name, list[at(name)]]))});
    const more = (title, rows) => el('details', {}, el('summary', {}, `${runName(run, runs)}: by ${title} (${rows.length})`), stacked(rows.map(row)));
    if (run.stalls.kernels.length > 1) out.push(more('kernel', run.stalls.kernels));
    out.push(more('unit', run.stalls.units));
  }
  return out;
});
function stacked(entries) {
  const left = 250, width = 1100, out = svg('svg', {viewBox: `0 0 ${width} ${entries.length * 27 + 24}`, class: 'wide', role: 'img', 'aria-label': 'stalls by class'});
  entries.forEach((entry, i) => {
    const y = i * 27 + 2; let x = left;
    out.append(svg('text', {x: left - 8, y: y + 15, 'text-anchor': 'end'}, clip(entry.name, 38), svg('title', {}, entry.name)));
    for (const name of CLASSES) {
      const share = entry.of[name] / Math.max(1, entry.of.ticks), w = (width - left - 20) * share;
      if (w <= 0) continue;
      const part = svg('rect', {x, y, width: w, height: 20, fill: classColour(name)}, svg('title', {}, `${words(name)}: ${num(entry.of[name])} ticks, ${percent(share)}`));
      out.append(part);
      x += w;
    }
  });
  for (let p = 0; p <= 4; p++) out.append(svg('text', {x: left + (width - left - 20) * p / 4, y: entries.length * 27 + 16, 'text-anchor': 'middle', class: 'soft'}, 25 * p + ' %'));
  return el('div', {class: 'scroll'}, out);
}

view('links', 'Links', () => {
  const with_ = logs.filter(log => log.links.length);
  if (!with_.length) return el('p', {}, 'No event log with links is given: weft run ... --events FILE.');
  return with_.map(log => {
    const out = [el('h3', {}, `${log.workload} on ${log.fabric}`)], limited = log.links.every(l => l.per_cycle);
    out.push(el('p', {class: 'soft'}, `Bytes that each link's sender began, in intervals of ${num(log.interval)} cycles` + (limited ? ', as a share of what it can carry.' : ', per cycle.')));
    const shown = log.links.slice(0, 9);
    out.push(legend(shown.map((link, i) => [link.name, colour(i)])), lines(shown.map((link, i) => ({fill: colour(i), name: link.name,
      points: link.points.map(([cycle, bytes]) => [cycle, bytes / log.interval / (limited ? link.per_cycle : 1)])})), log, limited));
    if (log.links.length > 9) out.push(note(`The picture shows the 9 links with the most bytes; the table has ${log.links.length}.`));
    const sum = link => link.points.reduce((s, [, b]) => s + b, 0), peak = link => Math.max(...link.points.map(([, b]) => b)) / log.interval;
    out.push(table(['link', 'bytes', 'mean bytes/cycle', 'peak bytes/cycle', 'limit'], log.links.map(link => [link.name, sum(link), sum(link) / Math.max(1, log.end - log.from), peak(link), link.per_cycle || ''])
      , c => c > 0));
    return out;
  });
});
function lines(series, log, share) {
  const width = 1100, height = 300, left = 56, right = 12, top = 10, bottom = 34, span = Math.max(1, log.end - log.from);
  const max = Math.max(...series.flatMap(s => s.points.map(p => p[1])), 1e-9), unit = step(max, 5), high = unit * Math.ceil(max / unit);
  const x = cycle => left + (width - left - right) * (cycle - log.from) / span, y = value => height - bottom - (height - top - bottom) * value / high;
  const out = svg('svg', {viewBox: `0 0 ${width} ${height}`, class: 'wide', role: 'img', 'aria-label': 'use of links over time'});
  for (let v = 0; v <= high + unit / 2; v += unit) out.append(svg('path', {d: `M${left} ${y(v)}H${width - right}`, class: 'grid'}), svg('text', {x: left - 6, y: y(v) + 4, 'text-anchor': 'end', class: 'soft'}, share ? percent(v) : num(Number(v.toPrecision(6)))));
  const tick = step(span, 8);
  for (let c = Math.ceil(log.from / tick) * tick; c <= log.end; c += tick) out.append(svg('text', {x: x(c), y: height - 16, 'text-anchor': x(c) > width - 40 ? 'end' : 'middle', class: 'soft'}, num(c)));
  out.append(svg('text', {x: width - right, y: height - 1, 'text-anchor': 'end', class: 'soft'}, 'cycle'));
  for (const s of series) {
    let d = '', last = null;
    for (const [cycle, value] of s.points) {
      if (last === null || cycle > last) d += `${d ? 'L' : 'M'}${x(last ?? cycle).toFixed(1)} ${y(0).toFixed(1)}L${x(cycle).toFixed(1)} ${y(0).toFixed(1)}`;
      d += `L${x(cycle).toFixed(1)} ${y(value).toFixed(1)}L${x(Math.min(cycle + log.interval, log.end)).toFixed(1)} ${y(value).toFixed(1)}`;
      last = cycle + log.interval;
    }
    if (d) out.append(svg('path', {d: d + `L${x(Math.min(last, log.end)).toFixed(1)} ${y(0).toFixed(1)}`, fill: 'none', stroke: s.fill, 'stroke-width': 1.5}, svg('title', {}, s.name)));
  }
  return el('div', {class: 'scroll'}, out);
}

view('invalidations', 'Invalidations', () => {
  const out = [];
  for (const log of logs.filter(l => l.causes.length)) {
    out.push(el('h3', {}, `${log.workload} on ${log.fabric}: what took copies or ownership away`), el('p', {class: 'soft'}, 'Messages where a block decided so, each counted once however far it was carried, by the row of the transition table that decided.'),
      bars(log.causes.map((c, i) => ({name: c.what, value: c.messages, fill: colour(i), text: `${num(c.messages)}, of ${num(c.lines)} lines`})), 430), log.causes_cut ? note(log.causes_cut) : null);
  }
  for (const run of runs) {
    const wanted = /inv|evict|revoke|probe|recall|downgrade/i, some = figures(run.metrics).filter(([n, v]) => wanted.test(n) && typeof v === 'number');
    const covers = run.covers.filter(([n]) => wanted.test(n)).sort((a, b) => b[1] - a[1]);
    if (!some.length && !covers.length) continue;
    out.push(el('h3', {}, runName(run, runs)));
    if (some.length) out.push(table(['figure', 'value', 'unit', 'what it is'], some.map(([shown, value, name]) => [shown, value, ...(run.meanings[name] || [])]), c => c === 1));
    if (covers.length) out.push(el('details', {open: covers.length < 12}, el('summary', {}, `rows and races about them (${covers.length})`), table(['row or race', 'cycles'], covers.map(([n, v]) => [el('code', {}, n), v]), c => c === 1)));
  }
  if (!out.length) out.push(el('p', {}, 'Nothing given says anything of invalidations.'));
  return out;
});
