// Questions to the kernel: each has a number and gets an answer, be it that nobody answers.

const PATIENCE = 8000; // milliseconds until a silent kernel is called silent

/**
 * @param {any} model
 * @returns {{ask: (question: Record<string, any>) => Promise<any>, close: () => void}}
 *     `ask` rejects with an Error whose message is a sentence for the user
 */
export function makeAsk(model) {
  let last = 0;
  /** @type {Map<number, {resolve: (answer: any) => void, reject: (error: Error) => void, timer: any}>} */
  const open = new Map();
  /** @param {any} answer */
  const onAnswer = (answer) => {
    const waiting = open.get(answer?.id);
    if (!waiting) return;
    clearTimeout(waiting.timer);
    open.delete(answer.id);
    if (answer.problem) waiting.reject(new Error(answer.problem));
    else waiting.resolve(answer);
  };
  model.on("msg:custom", onAnswer);
  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        const id = ++last;
        const timer = setTimeout(() => {
          open.delete(id);
          reject(new Error("The kernel does not answer: it is busy or gone."));
        }, PATIENCE);
        open.set(id, { resolve, reject, timer });
        model.send({ ...question, id });
      }),
    close: () => {
      model.off("msg:custom", onAnswer);
      for (const { timer } of open.values()) clearTimeout(timer);
    },
  };
}
