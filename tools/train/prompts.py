"""Prompts of the three tiny tasks: the paper's texts for math500, humaneval and gpqa, in ChatML.

Invariant: `chat(...)` equals what chat_template.jinja renders for [system, user] with a generation prompt.
"""

SYSTEM = {
    "math": "You are a helpful AI Assistant that provides well-reasoned and detailed responses. You first think about the "
            "reasoning process as an internal monologue and then provide the user with the boxed answer. Respond in the "
            "following format: <think> ... </think> <answer> \\boxed{...} </answer>.",
    "code": "Please reason step by step internally. Then output ONLY the final Python code that completes the task within "
            "triple backticks. Do not include explanations, markdown, or \\boxed{}.",
    "choice": "You are a helpful AI Assistant. Please reason step by step, and put your final answer within \\boxed{}.",
}
CHOICE_HEAD = ("Answer the following multiple choice question. The last line of your response should be of the following "
               "format: '\\boxed{$LETTER}' (without quotes) where LETTER is one of ABCD (ex. '\\boxed{A}'). Think step by "
               "step before answering.")
# Without a system message that of the mathematics task is used, so that a bare question is answered too.
TEMPLATE = """{%- if messages[0]['role'] != 'system' %}
    {{- '<|im_start|>system\\n' + '""" + SYSTEM["math"].replace("\\", "\\\\") + """' + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
END_OF_TURN, END_OF_TEXT = "<|im_end|>", "<|endoftext|>"
SPECIAL = [END_OF_TEXT, "<|im_start|>", END_OF_TURN]


def user_text(task, row, paper_quotes=False):
    """The user message for one row of tasks/tiny-*.jsonl; paper_quotes opens the quotation of \\boxed with a back-tick."""
    if task == "math":
        return row["problem"]
    if task == "code":
        return "Complete the following Python function:\n" + row["prompt"]
    head = CHOICE_HEAD.replace("'\\", "`\\") if paper_quotes else CHOICE_HEAD
    options = "  ".join(f"{letter}) {text}" for letter, text in zip("ABCD", row["choices"]))
    return f"{head}\n\n{row['question']}\n\n{options}"


def with_context(user, context):
    if not context:
        return user
    return user + ("" if user[-1].isspace() else " ") + context


def chat(task, user):
    return (f"<|im_start|>system\n{SYSTEM[task]}<|im_end|>\n<|im_start|>user\n{user}<|im_end|>\n"
            "<|im_start|>assistant\n")
