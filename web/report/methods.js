// Methods of a summary: their names and colours, paired tests, the best of them. A page defines `methods`, `names` and `number_of`.
// The short name of a method, also where words follow it ("sample, best of 3").
function name_of(text) {
  if (names.has(text)) return names.get(text);
  const start = methods.filter(method => text.startsWith(method)).sort((a, b) => b.length - a.length)[0];
  return start === undefined ? text : names.get(start) + text.slice(start.length);
}
const of_method = (task, method) => task.methods.find(m => m.method === method);
const colour = method => `hsl(${[212, 28, 150, 275, 350, 95, 185, 320, 50, 240, 10, 130][number_of.get(method) % 12]} 62% var(--hue-light))`;

// The paired test of two methods, as a minus b; undefined if they have no question in common.
function difference(task, a, b) {
  for (const pair of task.pairs) {
    if (pair.questions === 0) continue;
    if (pair.a === b && pair.b === a) return {...pair, difference: pair.difference};
    if (pair.a === a && pair.b === b) return {...pair, difference: -pair.difference};
  }
}
const NOISE = 0.05;
// The best method and all that are not significantly worse. A method with nothing right never belongs to it.
function best_group(task) {
  const able = task.methods.filter(m => m.accuracy.mean > 0);
  if (task.methods.length < 2 || !able.length) return new Set();
  const best = able.reduce((a, b) => b.accuracy.mean > a.accuracy.mean ? b : a);
  return new Set(able.filter(m => {
    if (m.accuracy.mean === best.accuracy.mean) return true;
    const test = difference(task, best.method, m.method);
    return test && test.p >= NOISE;
  }).map(m => m.method));
}
