"""The child process that TOSA's reference model lives in; started by file, never imported.

It reads pickled requests, `(graph bytes, input arrays)`, from its standard input and writes pickled
answers, `(output arrays, "")` or `(None, reason)`, where its standard output was; what the model
prints goes to standard error.
"""

import os
import pickle
import signal
import sys


def main() -> None:
    """Answer until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Jupyter sends it to all; the parent decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import tosa_reference_model

    while True:
        try:
            graph, inputs = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            outputs, status = tosa_reference_model.run(graph, inputs)
            is_valid = status == tosa_reference_model.GraphStatus.TOSA_VALID
            answer = (outputs, "") if is_valid else (None, f"the graph's status is {status.name}")
        except Exception as error:  # becomes the parent's error
            answer = (None, str(error))
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
