// The data of a comparison of runs. A set is what stands in one table: all runs of a model, or those of one experiment.
const data = JSON.parse(by_id("data").textContent);
const sets = [
  ...data.models.map(m => ({model: m.label, experiment: "", summary: m.summary, published: m.published,
                            source: (task, method) => (m.sources.find(s => s.task === task && s.method === method) || {}).folder})),
  ...data.experiments.filter(e => e.experiment).map(e => ({...e, source: () => e.folders.join(", ")}))];
const experiments = [...new Set(data.experiments.map(e => e.experiment))];
const models = data.models.map(m => m.label);
const tasks_of = set => set.summary.average ? [...set.summary.tasks, set.summary.average] : set.summary.tasks;
const methods = [...new Set([...sets, ...data.experiments].flatMap(set => tasks_of(set).flatMap(task => task.methods.map(m => m.method))))];
const names = short_names(methods);
const number_of = new Map(methods.map((method, i) => [method, i]));
const task_names = [...new Set(sets.flatMap(set => tasks_of(set).map(task => task.task)))];
const experiment_name = experiment => experiment || "other runs";

// The paper's figure for a method of a set on a task, if it has one.
function published_in(set, task, method) {
  const column = set.published.columns.indexOf(task), row = set.published.rows.find(r => r.method === method);
  return column < 0 || !row ? undefined : row.values[column] ?? undefined;
}
