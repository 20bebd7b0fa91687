import { setTimeout as sleep } from "node:timers/promises";
import { askServer, passwordRejected, superuserUrl } from "./answers.ts";
import { LocalPostgresError } from "./errors.ts";
import { findPostmaster, type Postmaster } from "./postmaster.ts";

/**
 * The server that already runs on this data directory, once it answers; undefined when there is none, or when it was
 * about to end and has ended.
 */
export async function findRunning(
  dataDir: string,
  password: string,
  deadline: number,
): Promise<Postmaster | undefined> {
  for (;;) {
    const running = await findPostmaster(dataDir);
    if (!running) return undefined;
    const answer = await askServer(superuserUrl(running.port, password), dataDir);
    if (answer === "ready") return running;
    if (answer === "rejected") throw passwordRejected(dataDir);
    if (performance.now() > deadline) {
      throw new LocalPostgresError(
        "start_failed",
        `The PostgreSQL server of ${dataDir} (process ${running.pid}) runs but does not answer: end it with kill -INT ${running.pid} and start again.`,
      );
    }
    await sleep(100);
  }
}
