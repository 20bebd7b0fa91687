import { type DestinationStream, pino } from "pino";

/** So long after one write the lines that came meanwhile go in the next: to hand a line to the system costs more than to make it. */
const GATHER_MS = 50;
/** More than this does not wait. */
const MAX_GATHERED_BYTES = 8 * 1024;

/** Where lines go: it keeps them until it is flushed, and tells how many bytes it has written. */
export type Output = DestinationStream & {
  flush(): void;
  on(event: "write", listener: (bytes: number) => void): unknown;
};

/** Writes a line at once after a quiet time, and those that follow it at most every 50 ms. */
export function gathered(output: Output): DestinationStream {
  let unwritten = 0;
  let timer: NodeJS.Timeout | undefined;
  output.on("write", (bytes) => {
    unwritten -= bytes;
  });
  const send = () => {
    output.flush();
    timer = setTimeout(look, GATHER_MS).unref();
  };
  // While a write is under way nothing can be flushed; what is left is seen to the next time.
  const look = () => {
    if (unwritten > 0) send();
    else timer = undefined;
  };
  return {
    write(line) {
      unwritten += Buffer.byteLength(line);
      output.write(line);
      if (timer === undefined) send();
    },
  };
}

/** Lines on stdout; what is gathered when the process exits is still written. */
export function stdout(): DestinationStream {
  return gathered(pino.destination({ dest: 1, minLength: MAX_GATHERED_BYTES }));
}
