// An opened question: its text and correct answer, two answers compared word by word, and every answer.
const label_of = (question, sample) => names.get(sample.method) + (question.samples.filter(s => s.method === sample.method).length > 1 ? ` #${sample.sample + 1}` : "");
const verdict = sample => sample.error !== undefined ? "failed" : sample.correct ? "right" : "wrong";

function text_box(parent, text, raw) {
  const box = make("div", parent, undefined, {class: "text"});
  if (!raw && !text.includes("```") && looks_like_code(text)) highlighted(make("pre", box), text);
  else render_text(box, text, raw);
  return box;
}
function problem_box(parent, question, raw) {
  const box = make("div", parent, undefined, {class: "problem"}), asked = make("div", box), gold = make("div", box);
  make("b", asked, "question");
  if (question.question) text_box(asked, question.question, raw);
  else make("div", asked, question.gold === undefined ? "Not recorded: the run has no problems.jsonl." : "Not shown: its authors ask not to publish it. The data file has it.", {class: "note"});
  if (question.gold === undefined) return;
  make("b", gold, question.gold.includes("\n") ? "test" : "correct answer");
  if (raw || question.gold.includes("\n") || /[$]/.test(question.gold) || !/[\\^_]/.test(question.gold)) text_box(gold, question.gold, raw);
  else make("div", gold, undefined, {class: "text"}).append(tex_to_mathml(question.gold));
}
function answer_box(parent, question, sample, answer, raw, coloured) {
  const box = make("article", parent, undefined, {class: `answer ${sample.correct ? "is-right" : ""}`});
  make("b", box, label_of(question, sample), {title: sample.method});
  make("span", box, ` ${verdict(sample)}`, {class: verdict(sample)});
  const found = sample.error ?? (sample.state ? `tests: ${sample.state}` : sample.unparsed ? "no answer found" : clip(sample.extracted.replaceAll("\n", " "), 120));
  make("div", box, found, {class: "found"});
  const facts = make("div", box, `score ${sample.score.toFixed(3)}, ${plural(sample.answer_tokens, "token")}` +
    `${sample.truncated ? ", truncated" : ""}${sample.strict !== sample.correct ? `, strict grader: ${sample.strict ? "right" : "wrong"}` : ""}`, {class: "note"});
  if (sample.trace && !sample.trace.includes(":")) {
    facts.append(", ");
    make("a", facts, "trace", {href: sample.trace});
  }
  if (coloured && answer.tokens) marked_text(make("div", box, undefined, {class: "text rewarded"}), answer, []);
  else if (answer.text) text_box(box, answer.text, raw);
}
// The text with the ranges that the other answer lacks marked, and tokens coloured by reward where they are known.
function marked_text(place, answer, ranges) {
  let at = 0, next = 0;
  for (const {text, reward} of answer.tokens || [{text: answer.text}]) {
    const end = at + text.length;
    while (at < end) {
      while (next < ranges.length && ranges[next][1] <= at) ++next;
      const range = ranges[next], inside = range && range[0] <= at;
      const to = Math.min(end, inside ? range[1] : range ? range[0] : end);
      const span = make("span", place, answer.text.slice(at, to), inside ? {class: "other"} : {});
      if (reward !== undefined) {
        const tint = Math.round(Math.min(1, Math.abs(reward) / 2) * 55);
        span.title = `reward ${reward < 0 ? MINUS : ""}${Math.abs(reward).toFixed(2)}`;
        span.style.background = `color-mix(in srgb, var(--${reward > 0 ? "gain" : "loss"}) ${tint}%, transparent)`;
      }
      at = to;
    }
  }
}
function show_comparison(place, question, answers, chosen) {
  const ranges = differing_ranges(...chosen.map(i => answers[i].text));
  place.replaceChildren();
  chosen.forEach((i, side) => {
    const box = make("div", place, undefined, {class: "side"}), sample = question.samples[i];
    make("b", box, label_of(question, sample), {title: sample.method});
    make("span", box, ` ${verdict(sample)}`, {class: verdict(sample)});
    marked_text(make("div", box, undefined, {class: `text${answers[i].tokens ? " rewarded" : ""}`}), answers[i], ranges[side]);
  });
}
// The two answers to begin with: those of the methods that the filter names, or one right and one wrong.
function first_pair(question, right, wrong) {
  const of = method => question.samples.findIndex(s => s.method === method);
  const find = (method, correct) => method && of(method) >= 0 ? of(method) : question.samples.findIndex(s => s.correct === correct);
  const a = Math.max(0, find(right, true));
  let b = find(wrong, false);
  if (b < 0 || b === a) b = question.samples.findIndex((s, i) => i !== a);
  return [a, b];
}
function compare_box(parent, question, answers, right, wrong) {
  if (question.samples.length < 2) return;
  const box = make("div", parent, undefined, {class: "compare"}), controls = make("div", box, undefined, {class: "controls"});
  const sides = make("div", undefined, undefined, {class: "sides"});
  make("b", controls, "compare");
  const selects = first_pair(question, right, wrong).map((chosen, i) => {
    const select = make("select", controls, undefined, {class: "chosen", "aria-label": i ? "second answer" : "first answer"});
    options(select, question.samples.map((s, n) => [n, `${label_of(question, s)} (${verdict(s)})`]));
    select.value = chosen;
    return select;
  });
  const update = () => show_comparison(sides, question, answers, selects.map(select => Number(select.value)));
  for (const select of selects) select.addEventListener("change", update);
  make("span", controls, "marked: words that the other lacks", {class: "note"});
  if (answers.some(answer => answer.tokens)) {
    const scale = make("span", controls, undefined, {class: "note scale"});
    scale.append("reward \u22122");
    make("i", scale);
    scale.append("+2");
  }
  box.append(sides);
  update();
}
function open_question(parent, question, right, wrong) {
  const answers = answers_of(question), place = make("div", parent, undefined, {class: "opened"});
  const controls = make("div", place, undefined, {class: "controls"}), content = make("div", place, undefined, {class: "opened"});
  make("b", controls, question.id);
  const pressed = toggle => toggle !== undefined && toggle.getAttribute("aria-pressed") === "true";
  const toggle = (text, kind) => {
    const made = button(controls, text, () => {
      made.setAttribute("aria-pressed", !pressed(made));
      fill();
    }, {class: kind, "aria-pressed": "false"});
    return made;
  };
  const raw_text = toggle("raw text", "raw-toggle");
  const rewards = answers.some(answer => answer.tokens) ? toggle("rewards", "reward-toggle") : undefined;
  const fill = () => {
    const raw = pressed(raw_text), coloured = pressed(rewards);
    content.replaceChildren();
    problem_box(content, question, raw);
    compare_box(content, question, answers, right, wrong);
    const list = make("div", content, undefined, {class: "answers"});
    question.samples.forEach((sample, i) => answer_box(list, question, sample, answers[i], raw, coloured));
  };
  fill();
  return place;
}
