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
function answer_box(parent, question, sample, text, raw) {
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
  if (text) text_box(box, text, raw);
}
// The text with the ranges that the other answer lacks marked, and tokens coloured by reward where they are known.
function marked_text(place, text, ranges, tokens) {
  const pieces = tokens ? tokens.texts : [text];
  let at = 0, next = 0;
  pieces.forEach((piece, i) => {
    const reward = tokens && tokens.rewards ? tokens.rewards[i] : undefined;
    for (let from = at; from < at + piece.length; ) {
      while (next < ranges.length && ranges[next][1] <= from) ++next;
      const range = ranges[next], inside = range && range[0] <= from;
      const to = Math.min(at + piece.length, inside ? range[1] : range ? range[0] : Infinity);
      const span = make("span", place, text.slice(from, to), inside ? {class: "other"} : {});
      if (tokens) span.title = `${reward === undefined ? "" : `reward ${reward.toFixed(3)}, `}log-probability ${tokens.base[i].toFixed(3)}`;
      if (reward !== undefined) {
        const tint = Math.round(Math.min(1, Math.abs(reward) / 2) * 55);
        span.style.background = `color-mix(in srgb, var(--${reward > 0 ? "gain" : "loss"}) ${tint}%, transparent)`;
      }
      from = to;
    }
    at += piece.length;
  });
}
function show_comparison(place, question, texts, chosen) {
  const sides = chosen.map(i => {
    const tokens = question.samples[i].tokens;
    return {sample: question.samples[i], tokens, text: tokens ? tokens.texts.join("") : texts[i]};
  });
  const ranges = differing_ranges(sides[0].text, sides[1].text);
  place.replaceChildren();
  sides.forEach((side, i) => {
    const box = make("div", place, undefined, {class: "side"});
    make("b", box, label_of(question, side.sample), {title: side.sample.method});
    make("span", box, ` ${verdict(side.sample)}`, {class: verdict(side.sample)});
    marked_text(make("div", box, undefined, {class: `text${side.tokens && side.tokens.rewards ? " rewarded" : ""}`}), side.text, ranges[i], side.tokens);
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
function compare_box(parent, question, texts, right, wrong) {
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
  const update = () => show_comparison(sides, question, texts, selects.map(select => Number(select.value)));
  for (const select of selects) select.addEventListener("change", update);
  make("span", controls, "marked: words that the other lacks", {class: "note"});
  if (question.samples.some(s => s.tokens && s.tokens.rewards)) {
    const scale = make("span", controls, undefined, {class: "note scale"});
    scale.append("reward \u22122");
    make("i", scale);
    scale.append("+2");
  }
  box.append(sides);
  update();
}
function open_question(parent, question, right, wrong) {
  const texts = answer_texts(question), place = make("div", parent, undefined, {class: "opened"});
  const controls = make("div", place, undefined, {class: "controls"}), content = make("div", place, undefined, {class: "opened"});
  make("b", controls, question.id);
  const toggle = button(controls, "raw text", () => {
    toggle.setAttribute("aria-pressed", toggle.getAttribute("aria-pressed") !== "true");
    fill();
  }, {class: "raw-toggle", "aria-pressed": "false"});
  const fill = () => {
    const raw = toggle.getAttribute("aria-pressed") === "true";
    content.replaceChildren();
    problem_box(content, question, raw);
    compare_box(content, question, texts, right, wrong);
    const answers = make("div", content, undefined, {class: "answers"});
    question.samples.forEach((sample, i) => answer_box(answers, question, sample, texts[i], raw));
  };
  fill();
  return place;
}
