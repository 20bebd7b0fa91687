import { setTimeout as sleep } from "node:timers/promises";
import { LocalPostgresError } from "./errors.ts";
import { findPostmaster, type Postmaster } from "./postmaster.ts";
import { passwordRejectedError, probeServer, superuserUrl } from "./probe-server.ts";

/**
 * Waits until the server of this data directory responds. Returns undefined if the server is not running or exits during the wait. Throws
 * LocalPostgresError if the server refuses the password, or does not respond before performance.now() reaches `deadline`.
 */
export async function waitForRunningServer(
  dataDir: string,
  password: string,
  deadline: number,
): Promise<Postmaster | undefined> {
  for (;;) {
    const running = await findPostmaster(dataDir);
    if (!running) return undefined;
    const state = await probeServer(superuserUrl(running.port, password), dataDir);
    if (state === "ready") return running;
    if (state === "rejected") throw passwordRejectedError(dataDir);
    if (performance.now() > deadline) {
      throw new LocalPostgresError(
        "start_failed",
        `The PostgreSQL server of ${dataDir} (process ${running.pid}) is running but does not respond: stop it with kill -INT ${running.pid} and start again.`,
      );
    }
    await sleep(100);
  }
}
