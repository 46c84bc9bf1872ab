// Puts the page together.
class Chat {
  constructor(api, described) {
    this.api = api;
    this.store = new Store();
    this.store.failed = text => this.notice(text);
    this.traces = new Traces(api);
    this.catalogue = new Catalogue(described);
    this.asker = new Asker(api, this.store, this.traces, {
      changed: message => this.list.update(message),
      grew: (message, block) => this.grew(message, block),
      ended: message => this.ended(message)});
    Object.assign(this.asker, {model: described.model, catalogue: this.catalogue});
    by_id("model").textContent = described.model;
    this.tree = new TreeView(by_id("tree-place"), by_id("candidate"), {on_continue: (node, model) => this.proceed(node, model)}, by_id("tree-extras"));
    this.columns = new Columns(by_id("columns"), this.store, this.catalogue);
    this.list = new MessageList(by_id("messages"), this.store, this.asker, this.catalogue, {
      edit: (message, text) => this.ask(text, message.parent),
      again: message => this.again(message),
      choose: message => this.choose(message),
      branch: message => this.choose(message),
      tree: message => this.show_tree(message)});
    this.sidebar = new Sidebar(this.store, this.traces, {open: () => this.open(), notice: (text, alarm) => this.notice(text, alarm)});
    this.store.changed = () => this.sidebar.show();
    this.watch_composer();
    this.watch_top();
    this.sidebar.show();
    this.open();
  }
  open() {
    const conversation = this.store.current;
    by_id("title").textContent = conversation.title;
    by_id("system").value = conversation.system;
    by_id("notice").hidden = true;
    this.list.show();
    this.update_buttons();
    const last = chosen_path(conversation).findLast(message => message.search);
    if (last && !by_id("inspector").hidden) this.show_tree(last);
    else this.open_inspector(false);
  }
  notice(text, alarm = true) {
    const box = by_id("notice");
    box.textContent = text;
    box.classList.toggle("alarm", alarm);
    box.hidden = false;
  }
  update_buttons() {
    by_id("stop").hidden = !this.asker.busy;
    by_id("send").hidden = this.asker.busy;
  }

  // Questions and answers.
  ask(text, parent = chosen_path(this.store.current).at(-1)?.id ?? null) {
    const conversation = this.store.current, question = add_message(conversation, {role: "user", content: text, parent});
    this.asked(this.asker.ask(conversation, question, this.store.columns));
  }
  again(message) {
    const conversation = this.store.current;
    this.asked(this.asker.ask(conversation, conversation.messages[message.parent], message.column ? [message.column] : this.store.columns));
  }
  // From a candidate of a search: a finished one is taken as it is, another is continued.
  proceed(node, model) {
    const conversation = this.store.current, from = conversation.messages[this.tree_message];
    if (!from) return;
    if (this.asker.busy) {
      this.notice("An answer is still being written. Stop it first, or wait for its end.");
      return;
    }
    const text = (from.prefix ?? "") + model.answer_text(node);
    if (node.fate === "finished") {
      add_message(conversation, {role: "assistant", parent: from.parent, group: random_id(), content: text, column: from.column, search: from.search, cost: {score: node.score}});
      this.store.save();
      this.list.show();
    } else this.asked([this.asker.proceed(conversation, from.parent, from.column, text)]);
  }
  asked(messages) {
    by_id("title").textContent = this.store.current.title;
    by_id("notice").hidden = true;
    this.store.save();
    this.sidebar.show();
    this.list.show();
    this.update_buttons();
    const traced = messages.find(message => this.asker.traced(message));
    if (traced && (!by_id("inspector").hidden || matchMedia("(min-width: 1100px)").matches)) this.show_tree(traced);
  }
  choose(message) {
    this.store.current.chosen[message.parent ?? ""] = message.id;
    this.store.save();
    this.list.show();
  }
  grew(message, block) {
    const model = this.traces.models.get(message.search);
    this.list.progress(message, `searching\u2026 ${plural(model.blocks.length, "block")}` +
      (block.generated_tokens === undefined ? "" : `, ${plural(block.generated_tokens, "token")} generated, ${block.finished} finished`));
    if (this.tree_message === message.id && this.tree.model === model) this.tree.grew();
  }
  ended(message) {
    this.update_buttons();
    this.list.refresh(message);
    if (this.tree_message === message.id) this.show_tree(message, true);
  }

  // The tree beside the chat.
  open_inspector(open) {
    by_id("inspector").hidden = !open;
    by_id("toggle-tree").setAttribute("aria-expanded", String(open));
    by_id("app").classList.toggle("with-tree", open);
  }
  async show_tree(message, keep = false) {
    this.open_inspector(true);
    this.tree_message = message.id;
    by_id("tree-title").textContent = message.column ? `Search tree: ${this.catalogue.label(message.column)}` : "Search tree";
    const kept = keep && this.tree.current && this.tree.current !== this.tree.followed ? this.tree.current.id : undefined;
    const model = await this.traces.model(message.search);
    if (this.tree_message !== message.id) return;
    this.tree.show(model ?? new TraceModel(), kept);
    if (!model) by_id("candidate").replaceChildren(make("p", undefined, "The trace of this search is no longer there: the server keeps only the last ones.", {class: "note"}));
  }

  watch_composer() {
    const question = by_id("question"), fit = () => { question.style.height = "auto"; question.style.height = `${Math.min(220, question.scrollHeight + 2)}px`; };
    question.addEventListener("input", fit);
    question.addEventListener("keydown", event => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      by_id("composer").requestSubmit();
    });
    by_id("composer").addEventListener("submit", event => {
      event.preventDefault();
      const text = question.value.trim();
      if (!text || this.asker.busy) return;
      question.value = "";
      fit();
      this.ask(text);
    });
    by_id("stop").addEventListener("click", () => this.asker.stop());
    document.addEventListener("keydown", event => { if (event.key === "Escape" && this.asker.busy && !document.querySelector("dialog[open]")) this.asker.stop(); });
  }
  watch_top() {
    by_id("toggle-system").addEventListener("click", event => {
      const box = by_id("system-box");
      box.hidden = !box.hidden;
      event.target.setAttribute("aria-expanded", String(!box.hidden));
      if (!box.hidden) by_id("system").focus();
    });
    by_id("system").addEventListener("change", event => { this.store.current.system = event.target.value; this.store.save(); });
    by_id("toggle-tree").addEventListener("click", () => {
      const last = chosen_path(this.store.current).findLast(message => message.search);
      if (by_id("inspector").hidden && last) this.show_tree(last);
      else this.open_inspector(by_id("inspector").hidden);
    });
    by_id("hide-tree").addEventListener("click", () => this.open_inspector(false));
  }
}
// The theme is kept, and set before anything is drawn.
function watch_theme(changed) {
  const select = by_id("theme"), set = theme => {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
  };
  select.value = localStorage.getItem("counterbeam.theme") ?? "";
  set(select.value);
  select.addEventListener("change", () => {
    localStorage.setItem("counterbeam.theme", select.value);
    set(select.value);
    changed();
  });
}
let chat;
async function start() {
  const api = new Api();
  try {
    chat = new Chat(api, await api.methods());
  } catch (error) {
    if (error.status === 401) {
      by_id("key-dialog").showModal();
      by_id("key-dialog").addEventListener("close", () => { api.set_key(by_id("key").value); start(); }, {once: true});
      return;
    }
    by_id("notice").textContent = error.message;
    by_id("notice").hidden = false;
    by_id("notice").classList.add("alarm");
  }
}
watch_theme(() => chat && chat.tree.repaint());
start();
