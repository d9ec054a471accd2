// What was run, key by key.
view('configuration', 'Configuration', () => {
  const all = [...runs.map(run => [runName(run, runs), run.config]), ...logs.filter(log => !runs.some(run => JSON.stringify(run.config) === JSON.stringify(log.config))).map(log => [log.file, log.config])];
  if (!all.length) return el('p', {}, 'Only runs and event logs hold a configuration; the columns of a sweep are those of its table.');
  const keys = [...new Set(all.flatMap(([, config]) => Object.keys(config)))];
  const text = value => value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
  const differs = key => new Set(all.map(([, config]) => text(config[key]))).size > 1;
  const rows = keys.map(key => ({differs: differs(key), cells: [el('code', {}, key), ...all.map(([, config]) => text(config[key]))]}));
  rows.sort((a, b) => b.differs - a.differs);
  return [all.length > 1 ? el('p', {class: 'soft'}, 'Keys that differ come first, in bold.') : null, table(['key', ...all.map(([name]) => name)], rows)];
});
start();
