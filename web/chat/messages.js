// The conversation on the screen: questions, and answers side by side where several were asked for together.
const THINKING = /<think>([\s\S]*?)(?:<\/think>|$)/;

function show_answer_text(parent, text) {
  const thought = THINKING.exec(text), rest = thought ? text.replace(thought[0], "") : text;
  parent.replaceChildren();
  if (thought) {
    const details = make("details", parent, undefined, {class: "thinking"});
    make("summary", details, "Thinking");
    render_markdown(make("div", details, undefined, {class: "prose"}), thought[1].trim());
    details.open = !rest.trim();
  }
  const prose = make("div", parent, undefined, {class: "prose"});
  render_markdown(prose, rest.replace(/<\/?answer>/g, "").trim());
  return prose;
}
// Tokens, seconds and what the search cost beside its answer.
function cost_words(message) {
  const cost = message.cost ?? {}, words = [], answer = message.usage?.completion_tokens, seconds = cost.seconds ?? message.seconds;
  if (answer !== undefined) words.push(plural(answer, "token"));
  if (seconds !== undefined) words.push(`${seconds.toFixed(seconds < 10 ? 1 : 0)} s`);
  if (cost.generated_tokens !== undefined) words.push(`${whole(cost.generated_tokens)} generated`);
  if (cost.scored_tokens) words.push(`${whole(cost.scored_tokens)} scored`);
  const read = (cost.generated_tokens ?? 0) + (cost.scored_tokens ?? 0);
  if (answer && read > answer) words.push(`cost ${(read / answer).toFixed(1)} \u00d7 the answer`);
  if (cost.score !== undefined && cost.score !== null) words.push(`score ${fixed(cost.score)}`);
  return words;
}

class MessageList {
  // `actions`: edit, again, choose, branch, tree: functions of a message.
  constructor(place, store, asker, catalogue, actions) {
    Object.assign(this, {place, store, asker, catalogue, actions});
    this.boxes = new Map();
    this.changed = new Set();
  }
  show() {
    const conversation = this.store.current, path = chosen_path(conversation);
    this.place.replaceChildren();
    this.boxes.clear();
    if (!path.length) this.welcome();
    for (const message of path) message.role === "user" ? this.question(conversation, message) : this.answers(conversation, message);
    this.place.scrollTop = this.place.scrollHeight;
  }
  welcome() {
    const box = make("div", this.place, undefined, {class: "welcome"});
    make("p", box, "Ask a question. The search keeps answers that are likely, and likelier when excellent reasoning is announced than when wrong reasoning is.");
    make("p", box, "Add a second method to see both answers side by side.", {class: "note"});
  }
  // "2 / 3" with arrows, where a place has several branches.
  branches(parent, conversation, message) {
    const all = branches_of(conversation, message), at = all.findIndex(one => (one.group ?? one.id) === (message.group ?? message.id));
    if (all.length < 2) return;
    const box = make("span", parent, undefined, {class: "branches", role: "group", "aria-label": "Branches"});
    const go = step => () => this.actions.branch(all[at + step]);
    const before = button(box, "\u2039", go(-1), {class: "quiet", "aria-label": "Previous branch"}), words = make("span", box, `${at + 1} / ${all.length}`, {class: "figure"});
    const after = button(box, "\u203a", go(1), {class: "quiet", "aria-label": "Next branch"});
    before.disabled = at === 0;
    after.disabled = at === all.length - 1;
    return words;
  }
  question(conversation, message) {
    const box = make("article", this.place, undefined, {class: "turn question", "aria-label": "Your question"});
    render_text(make("div", box, undefined, {class: "text"}), message.content);
    const foot = make("div", box, undefined, {class: "turn-foot"});
    this.branches(foot, conversation, message);
    button(foot, "Edit", () => this.edit(box, message), {class: "quiet edit"});
  }
  edit(box, message) {
    const form = make("form", undefined, undefined, {class: "edit-form"});
    const area = make("textarea", form, undefined, {rows: 3, "aria-label": "Edited question"});
    area.value = message.content;
    const foot = make("div", form, undefined, {class: "turn-foot"});
    make("button", foot, "Ask", {type: "submit", class: "primary"});
    button(foot, "Cancel", () => this.show(), {class: "quiet"});
    form.addEventListener("submit", event => {
      event.preventDefault();
      if (area.value.trim()) this.actions.edit(message, area.value);
    });
    box.replaceChildren(form);
    area.focus();
  }
  answers(conversation, message) {
    const group = group_of(conversation, message), row = make("div", this.place, undefined, {class: `answers of-${group.length}`});
    for (const one of group) this.answer(row, conversation, one, group.length > 1, one === message);
    if (group.length < 2) return;
    const foot = make("div", this.place, undefined, {class: "turn-foot group-foot"});
    const toggle = button(foot, "Mark differences", () => {
      const on = toggle.getAttribute("aria-pressed") !== "true";
      toggle.setAttribute("aria-pressed", String(on));
      for (const one of group) on ? this.mark_differences(one, message, group) : show_answer_text(this.boxes.get(one.id).text, one.content);
    }, {class: "quiet differences", "aria-pressed": "false", title: "Words that the answer that is gone on with lacks are marked, and in it those that the next one lacks"});
  }
  // The plain text of an answer, with what the other lacks marked: the chosen answer, or for that one the next.
  mark_differences(one, chosen, group) {
    const other = one === chosen ? group.find(answer => answer !== chosen) : chosen, place = this.boxes.get(one.id).text;
    const [, ranges] = differing_ranges(other.content, one.content), text = make("div", undefined, undefined, {class: "text"});
    let at = 0;
    for (const [from, to] of ranges) {
      text.append(one.content.slice(at, from));
      make("mark", text, one.content.slice(from, to));
      at = to;
    }
    text.append(one.content.slice(at));
    place.replaceChildren(text);
  }
  answer(row, conversation, message, several, chosen) {
    const name = message.column ? this.catalogue.label(message.column) : "imported";
    const box = make("article", row, undefined, {class: `turn answer${several && chosen ? " chosen" : ""}`, "aria-label": `Answer by ${name}`, "data-message": message.id});
    const head = make("div", box, undefined, {class: "turn-head"});
    make("h3", head, name);
    if (message.prefix) make("span", head, "continued", {class: "badge", title: "It goes on from a candidate of a search"});
    const parts = {box, text: make("div", box, undefined, {class: "answer-text"}), state: make("div", box, undefined, {class: "state", role: "status"}), foot: make("div", box, undefined, {class: "turn-foot"})};
    this.boxes.set(message.id, parts);
    this.fill(conversation, message, parts, several, chosen);
  }
  fill(conversation, message, parts, several, chosen) {
    parts.box.setAttribute("aria-busy", String(message.state === "running"));  // read out when it is complete
    show_answer_text(parts.text, message.content);
    parts.state.replaceChildren();
    const fail = {failed: message.error, stopped: message.content ? "Stopped: the best answer so far." : "Stopped."}[message.state];
    if (fail) make("span", parts.state, fail, {class: message.state === "failed" ? "alarm" : "note"});
    if (message.finish === "length") make("span", parts.state, "Cut at the limit of tokens.", {class: "note"});
    if (message.state === "running") make("span", parts.state, "searching\u2026", {class: "note working"});
    else make("span", parts.state, cost_words(message).join(" \u00b7 "), {class: "note cost"});
    parts.foot.replaceChildren();
    if (several) button(parts.foot, chosen ? "Goes on from here" : "Go on from this one", () => this.actions.choose(message), {class: "quiet choose", "aria-pressed": String(chosen)});
    this.branches(parts.foot, conversation, message);
    if (message.search && (!message.column || this.asker.traced(message))) button(parts.foot, "Search tree", () => this.actions.tree(message), {class: "quiet tree-button"});
    if (message.state !== "running") {
      button(parts.foot, "Ask again", () => this.actions.again(message), {class: "quiet again"});
      button(parts.foot, "Copy", () => navigator.clipboard?.writeText(message.content), {class: "quiet"});
    }
  }
  // The answer has ended: its own box is filled anew, and nothing else on the screen changes.
  refresh(message) {
    const conversation = this.store.current, parts = this.boxes.get(message.id);
    if (!parts) return;
    const near = this.near_end(), chosen = conversation.chosen[message.parent] === message.id;
    this.fill(conversation, message, parts, group_of(conversation, message).length > 1, chosen);
    if (near) this.place.scrollTop = this.place.scrollHeight;
  }
  near_end() { return this.place.scrollHeight - this.place.scrollTop - this.place.clientHeight < 120; }

  // Text arrives faster than it can be rendered: once per frame is enough.
  update(message) {
    if (!this.changed.size) requestAnimationFrame(() => {
      const near = this.near_end();
      for (const one of this.changed) {
        const parts = this.boxes.get(one.id);
        if (parts) show_answer_text(parts.text, one.content);
      }
      this.changed.clear();
      if (near) this.place.scrollTop = this.place.scrollHeight;
    });
    this.changed.add(message);
  }
  progress(message, words) {
    const working = this.boxes.get(message.id)?.state.querySelector(".working");
    if (working) working.textContent = words;
  }
}
