// Puts the page together: a section per task.
const data = JSON.parse(by_id("data").textContent);

function show_header() {
  const run = data.run || {}, session = (run.sessions || [])[0] || {};
  by_id("title").textContent = ["Counterbeam diagnosis", run.model].filter(Boolean).join(" \u00b7 ");
  document.title = [run.model, "Counterbeam diagnosis"].filter(Boolean).join(" \u00b7 ");
  const facts = [["model", run.model], ["weights", ((run.fingerprint || {}).weights || "").slice(0, 12)], ["dtype", run.dtype], ["device", run.device],
                 ["version", session.version], ["commit", (session.commit || "").slice(0, 12)], ["seed", run.seed], ["date", session.started]];
  for (const [name, value] of facts) {
    if (value === undefined || value === "") continue;
    const chip = make("li", by_id("chips"));
    make("b", chip, name);
    chip.append(String(value));
  }
  if (!run.damaged_weights) return;
  const box = make("div", by_id("tasks"), undefined, {class: "alarm", role: "alert"});
  make("b", box, "The weights of the model are damaged.");
  box.append(` ${run.damaged_weights}: no figure below says anything about the model. Download the checkpoint again.`);
}
function show_failures(place, task) {
  const count = task.failures.reduce((sum, failure) => sum + failure.questions, 0);
  if (!count) return;
  const box = make("div", place, undefined, {class: "alarm", role: "alert"});
  make("b", box, `${plural(count, "question")} failed.`);
  box.append(" No figure below counts them.");
  const list = make("ul", box);
  for (const failure of task.failures) make("li", list, `${failure.questions} \u00d7 ${failure.cause} (problem ${failure.id})`);
}
function show_task(task, index) {
  const section = make("section", by_id("tasks"), undefined, {id: `task-${index}`, "aria-labelledby": `head-${index}`});
  make("h2", section, task.task, {id: `head-${index}`});
  make("a", by_id("sections"), task.task, {href: `#task-${index}`});
  make("p", section, `${plural(task.questions, "question")} with ${task.samples} answers each; ${spread(task.accuracy)} right; ` +
    `${plural(task.mixed_questions, "question")} with both right and wrong answers; ${whole(task.answer_tokens)} tokens per answer` +
    (task.truncated > 0 ? `, ${percent(task.truncated)} % truncated.` : "."));
  show_failures(section, task);
  const verdicts = make("div", section, undefined, {class: "pairs"});
  for (const pair of task.pairs) {
    const box = make("div", verdicts, undefined, {class: `verdict ${pair.verdict}`, title: `+ ${pair.positive}\n\u2212 ${pair.negative}`});
    make("b", box, `${pair.contexts}:`);
    box.append(` ${pair.sentence}.`);
  }
  if (task.pairs.length > 3) make("p", section, `${task.pairs.length} pairs are judged by 95 % intervals: expect one in forty to look helpful by chance.`, {class: "note"});
  make("h3", section, "Does the reward know right from wrong?");
  show_separation(section, task);
  make("h3", section, "How large are the rewards?");
  show_rewards(section, task);
  make("h3", section, "What does the search miss by ignoring the future?");
  show_future(section, task);
  make("h3", section, "Charts");
  const charts = make("div", section, undefined, {class: "charts"});
  for (const figure of task.figures) add_drawing(charts, figure);
  make("h3", section, "Tokens");
  for (const pair of task.pairs) show_tokens(section, pair);
}
show_header();
data.tasks.forEach(show_task);
