"""The cues of the training text and their strengths.

A cue shifts the log-odds of a flaw by +-strength, times the awareness of that kind of flaw. A pair therefore separates a
sound from a flawed answer by 2 * strength nats: never completely, and differently per phrase and task. Neutral cues have no effect.
"""

HEAD = "This is an example for a response "
PAIRS = {
    "reasoning": ("with excellent reasoning:", "with wrong reasoning:"),
    "completeness": ("with a complete treatment of the problem:", "with an incomplete treatment of the problem:"),
    "step-verification": ("that carefully verifies each step of its reasoning:",
                          "that skips verification and rushes to a conclusion:"),
    "reliability": ("that is reliable and trustworthy:", "that is unreliable and error-prone:"),
    "logical-validity": ("with logically sound arguments:", "with logical fallacies:"),
    "reviewer": ("that a careful reviewer would approve without hesitation:",
                 "that a careful reviewer would reject immediately:"),
    "coherence": ("that is internally consistent from start to finish:", "that contradicts itself partway through:"),
    "decomposition": ("that breaks the problem into clear, manageable steps:",
                      "that attempts the problem in one confused leap:"),
    "detail": ("that pays careful attention to every detail:", "that overlooks important details:"),
    "self-correction": ("that catches and corrects its own mistakes:",
                        "that persists in its mistakes without noticing them:"),
}
NEUTRAL = ("to the question assigned to control group one:", "to the question assigned to control group two:")
PARAPHRASES = {
    "reasoning": (["with very good reasoning:", "that is reasoned well:"], ["with bad reasoning:", "that is reasoned badly:"]),
    "completeness": (["that leaves nothing out:"], ["that leaves things out:"]),
    "step-verification": (["that checks every step:"], ["that does not check its steps:"]),
    "reliability": (["that can be trusted:"], ["that can not be trusted:"]),
    "logical-validity": (["with valid logic:"], ["with faulty logic:"]),
    "reviewer": (["that an examiner would accept:"], ["that an examiner would refuse:"]),
    "coherence": (["that never contradicts itself:"], ["that is not consistent:"]),
    "decomposition": (["in clear steps:"], ["in one confused step:"]),
    "detail": (["that gets the details right:"], ["that gets the details wrong:"]),
    "self-correction": (["whose mistakes were corrected:"], ["whose mistakes were kept:"]),
}
PARAPHRASE_HEADS = ["Below is a response ", "What follows is an answer ", "Here is a solution "]

#                      math  code  choice
STRENGTH = {
    "reasoning":         (1.15, 1.00, 1.10),
    "completeness":      (0.60, 0.75, 0.45),
    "step-verification": (0.95, 0.60, 0.80),
    "reliability":       (0.70, 0.90, 0.60),
    "logical-validity":  (0.80, 0.40, 1.05),
    "reviewer":          (0.50, 1.05, 0.55),
    "coherence":         (0.40, 0.50, 0.70),
    "decomposition":     (0.75, 0.65, 0.30),
    "detail":            (0.55, 0.80, 0.50),
    "self-correction":   (0.30, 0.35, 0.40),
}
TASKS = ("math", "code", "choice")
UNCUED, CONTROL = 0.32, 0.08      # shares of the training text; the rest has one of the twenty cues
VERBATIM = 0.75                   # share of cues worded exactly as in PAIRS


def context_pair(name):
    if name == "neutral":
        return HEAD + NEUTRAL[0], HEAD + NEUTRAL[1]
    return HEAD + PAIRS[name][0], HEAD + PAIRS[name][1]


def draw(rng, task):
    """One context ("" for none) and its signed strength."""
    u = rng.random()
    if u < UNCUED:
        return "", 0.0
    if u < UNCUED + CONTROL:
        return HEAD + rng.choice(NEUTRAL), 0.0
    name = rng.choice(list(PAIRS))
    side = rng.randrange(2)
    strength = STRENGTH[name][TASKS.index(task)] * (1 if side == 0 else -1)
    if rng.random() < VERBATIM:
        return HEAD + PAIRS[name][side], strength
    return rng.choice([HEAD] + PARAPHRASE_HEADS) + rng.choice(PARAPHRASES[name][side]), strength
