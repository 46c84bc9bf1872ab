// Tables of one task: cost, pass@k and best of k, accuracy at equal compute.
function named_row(table, method, cells, texts) {
  const row = table_row(table, [name_of(method), ...cells], "td", texts);
  row.firstChild.title = method;
  return row;
}
function show_costs(task) {
  const table = by_id("costs"), most = Math.max(...task.methods.map(compute));
  const timed = task.methods.some(m => m.seconds !== undefined && m.seconds !== null);
  const strict = task.methods.some(m => m.accuracy_strict && m.accuracy_strict.mean !== m.accuracy.mean);
  table.replaceChildren();
  table_row(table, ["method", "answer", "generated", "scored", "together", "prompt cached", ...(timed ? ["seconds"] : []), "truncated", "no answer", "failed",
                    ...(strict ? ["strict grader"] : [])], "th", [0, 4]);
  for (const m of task.methods) {
    const row = named_row(table, m.method, [
      whole(m.answer_tokens), whole(m.generated_tokens), whole(m.scored_tokens), "", whole(m.cached_tokens),
      ...(timed ? [m.seconds === undefined || m.seconds === null ? "-" : m.seconds.toFixed(2)] : []),
      `${percent(m.truncated)} %`, `${percent(m.unparsed)} %`, m.errors, ...(strict ? [percent(m.accuracy_strict.mean)] : [])], [4]);
    for (const [kind, tokens] of [["bar", m.generated_tokens], ["bar pale", m.scored_tokens]])
      make("span", row.cells[4], undefined, {class: kind, title: whole(tokens)}).style.width = `${110 * tokens / most}px`;
  }
  by_id("seconds-note").textContent = timed ? "Seconds cover generation and scoring, without loading and grading."
    : "Seconds are shown for runs that time one search at a time.";
}
function show_pass(task) {
  const table = by_id("pass"), list = task.methods.filter(m => (m.pass_at || []).length > 1);
  by_id("samples-section").hidden = !list.length;
  table.replaceChildren();
  if (!list.length) return;
  const most = Math.max(...list.map(m => m.pass_at.length)), chosen = [];
  for (let k = 1; k <= most; k = most <= 8 ? k + 1 : 2 * k) chosen.push(k);
  if (chosen.at(-1) !== most) chosen.push(most);
  const value = (row, k) => row && row[k - 1] !== undefined ? percent(row[k - 1]) : "-";
  table_row(table, ["method", ...chosen.map(k => `pass@${k}`), ...chosen.slice(1).map(k => `best of ${k}`)], "th", [0]);
  for (const m of list)
    named_row(table, m.method, [...chosen.map(k => value(m.pass_at, k)), ...chosen.slice(1).map(k => value(m.best_of, k))]);
}
function show_equal(task) {
  const table = by_id("equal");
  const mix = x => x.mix.length < 2 ? name_of(x.mix[0].method) : x.mix.map(m => `${percent(m.share)} % ${name_of(m.method)}`).join(" + ");
  table.replaceChildren();
  table_row(table, ["method", "tokens", "accuracy", "best of the others", "difference", "by"], "th", [0, 5]);
  for (const x of task.equal_compute || [])
    named_row(table, x.method, [whole(x.tokens), percent(x.accuracy),
      ...("others" in x ? [percent(x.others), signed(x.accuracy - x.others), mix(x)] : ["-", "-", "no other method is as cheap"])], [5]);
}
