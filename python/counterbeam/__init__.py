"""Counterbeam: better answers out of the language model you have, by contrastive beam search.

    import counterbeam as cb
    model = cb.LanguageModel()                     # a small model that ships
    print(model.ask("Compute 7 * 3^2 + 24.", steer=0.7).text)

A model may be asked from many threads at once; the engine batches what they ask, and answers do not
depend on what else runs. docs/python.md describes the package.
"""
import atexit

from counterbeam._errors import BadInput, Cancelled, Error, Failed
from counterbeam._native import _core
from counterbeam.answer import Answer, Candidate, Cost, Event, Score, Trace
from counterbeam.engine import Engine, Extension, Prompts, Sequence
from counterbeam.evaluation import Evaluation, evaluate, grade
from counterbeam.model import LanguageModel, Tokenizer
from counterbeam.settings import Cancellation, Method, Setting, contexts, methods

__version__: str = _core.version()

__all__ = [
    "Answer", "BadInput", "Cancellation", "Cancelled", "Candidate", "Cost", "Engine", "Error", "Evaluation", "Event", "Extension",
    "Failed", "LanguageModel", "Method", "Prompts", "Score", "Sequence", "Setting", "Tokenizer", "Trace", "contexts", "evaluate",
    "grade", "methods",
]

# Searches of threads that nobody waits for are cancelled before the interpreter goes away.
atexit.register(_core.close_calls)
