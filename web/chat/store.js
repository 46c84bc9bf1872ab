// Conversations, kept in the browser. A conversation is a tree of messages: editing a question or asking again adds a branch and
// loses nothing. Answers that were asked for together have the same `group` and are shown side by side.
const STORED = "counterbeam.chat.v1";

function new_conversation() {
  return {id: random_id(), title: "New chat", created: Date.now(), system: "", messages: {}, chosen: {}};
}
class Store {
  constructor() {
    this.conversations = [];
    this.columns = [];
    this.failed = () => {};   // told when nothing more can be kept
    this.changed = () => {};  // told when another tab has changed the list
    try {
      const kept = JSON.parse(localStorage.getItem(STORED) ?? "{}");
      this.conversations = (kept.conversations ?? []).filter(one => !conversation_fault(one));
      this.columns = kept.columns ?? [];
      this.current_id = kept.current;
    } catch { /* what is there is not ours: begin anew */ }
    addEventListener("storage", event => { if (event.key === STORED && event.newValue) this.adopt(JSON.parse(event.newValue)); });
    for (const conversation of this.conversations) for (const message of Object.values(conversation.messages))
      if (message.state === "running") message.state = "stopped";
  }
  save() {
    try {
      const begun = this.conversations.filter(one => Object.keys(one.messages).length || one.system);
      localStorage.setItem(STORED, JSON.stringify({conversations: begun, columns: this.columns, current: this.current_id}));
    } catch {
      this.failed("The browser's storage is full. Export or delete old chats; this one is lost on reload.");
    }
  }
  // Another tab has saved: its chats are taken over, except those that are open or being answered here.
  adopt(kept) {
    const {current} = this, own = this.conversations.filter(one => one === current || Object.values(one.messages).some(message => message.state === "running"));
    const others = (kept.conversations ?? []).filter(one => !conversation_fault(one) && !own.some(mine => mine.id === one.id));
    this.conversations = [...own, ...others].sort((a, b) => (b.created ?? 0) - (a.created ?? 0));
    this.changed();
  }
  save_soon() { this.timer ??= setTimeout(() => { this.timer = undefined; this.save(); }, 300); }

  get current() {
    let found = this.conversations.find(one => one.id === this.current_id);
    if (!found) {
      found = this.current_id ? undefined : this.conversations[0];  // it was empty, or is deleted
      found ??= this.add(new_conversation());
      this.current_id = found.id;
    }
    return found;
  }
  add(conversation) {
    this.conversations.unshift(conversation);
    this.current_id = conversation.id;
    return conversation;
  }
  remove(conversation) { this.conversations = this.conversations.filter(one => one !== conversation); }
}

// Messages of a conversation.
function add_message(conversation, message) {
  const added = {id: random_id(), parent: null, content: "", state: "done", ...message};
  conversation.messages[added.id] = added;
  conversation.chosen[added.parent ?? ""] = added.id;
  if (added.role === "user" && conversation.title === "New chat") conversation.title = added.content.replace(/\s+/g, " ").trim().slice(0, 60);
  return added;
}
const children_of = (conversation, id) => Object.values(conversation.messages).filter(message => message.parent === id);
// The messages that are shown: from the first, along the chosen branches.
function chosen_path(conversation) {
  const path = [];
  for (let id = conversation.chosen[""]; id && conversation.messages[id] && path.length < 10000; id = conversation.chosen[id]) path.push(conversation.messages[id]);
  return path;
}
function path_to(conversation, message) {
  const path = [];
  for (let at = message; at; at = conversation.messages[at.parent]) path.unshift(at);
  return path;
}
const group_of = (conversation, message) => message.group ? children_of(conversation, message.parent).filter(one => one.group === message.group) : [message];
// The alternatives to a message at its place: questions one by one, answers by group.
function branches_of(conversation, message) {
  const seen = new Set();
  return children_of(conversation, message.parent).filter(one => {
    const key = one.group ?? one.id;
    return seen.has(key) ? false : seen.add(key);
  });
}

// Why this is no conversation, or nothing. Imports are checked with it.
function conversation_fault(conversation) {
  if (!conversation || typeof conversation !== "object") return "is not an object";
  for (const name of ["id", "title"]) if (typeof conversation[name] !== "string") return `has no text "${name}"`;
  for (const name of ["messages", "chosen"]) if (!conversation[name] || typeof conversation[name] !== "object") return `has no object "${name}"`;
  for (const [id, message] of Object.entries(conversation.messages)) {
    if (message?.id !== id) return `message ${id}: its "id" is another`;
    if (!["user", "assistant"].includes(message.role)) return `message ${id}: "role" is neither user nor assistant`;
    if (typeof message.content !== "string") return `message ${id}: "content" is not a text`;
    if (message.parent !== null && !conversation.messages[message.parent]) return `message ${id}: its parent is missing`;
    const seen = new Set();
    for (let at = message; at; at = conversation.messages[at.parent]) {
      if (seen.has(at)) return `message ${id}: is its own ancestor`;
      seen.add(at);
    }
  }
}
