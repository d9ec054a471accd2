// What was run: program, parameters and graph, then the fabric's keys.
function setup(of) {
  const s = of.setup || {}, rows = {workload: of.workload, fabric: of.fabric};
  if (of.seed !== null && of.seed !== undefined) rows.seed = of.seed;
  for (const [name, value] of Object.entries(s.params || {})) {
    const how = [(s.params_given || []).includes(name) ? 'given' : '', (s.params_followed || []).includes(name) ? 'from the fabric' : '', (s.params_unused || []).includes(name) ? 'not used' : ''].filter(Boolean);
    rows['parameter ' + name] = value + (how.length ? ` (${how.join(', ')})` : '');
  }
  for (const [name, value] of Object.entries(s.graph || {})) if (value !== null && String(value) !== '') rows['graph ' + words(name)] = String(value);
  if (s.weft) rows['made by'] = `weft ${s.weft.version} (${s.weft.commit})`;
  return rows;
}
/** A key's value, with that of the fabric's file where it is another. */
function keyed(of) {
  const changed = (of.setup || {}).changed || {};
  const text = value => value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
  return Object.fromEntries(Object.entries(of.config).map(([key, value]) => [key, text(value) + (changed[key] ? ` (file: ${text(changed[key].file)})` : '')]));
}
view('configuration', 'Configuration', () => {
  const all = [...runs, ...logs.filter(log => !runs.some(run => run.workload === log.workload && run.told === log.told && JSON.stringify(run.config) === JSON.stringify(log.config)))]
    .map(of => [runs.includes(of) ? runName(of, runs) : of.file, {...setup(of), ...keyed(of)}]);
  if (!all.length) return el('p', {}, 'Only runs and event logs hold a configuration; the columns of a sweep are those of its table.');
  const keys = [...new Set(all.flatMap(([, of]) => Object.keys(of)))], text = value => value === undefined ? '' : String(value);
  const differs = key => new Set(all.map(([, of]) => text(of[key]))).size > 1;
  const rows = keys.map(key => ({differs: differs(key), cells: [el('code', {}, key), ...all.map(([, of]) => text(of[key]))]}));
  rows.sort((a, b) => b.differs - a.differs);
  return [all.length > 1 ? el('p', {class: 'soft'}, 'What differs comes first, in bold.') : null, table(['key', ...all.map(([name]) => name)], rows)];
});
start();
