import { rm } from "node:fs/promises";
import { findPlace } from "./place.ts";
import { findPostmaster, stopPostmaster } from "./postmaster.ts";

/** Ends the server of a `dataDir` as startLocalPostgres was given it, if one runs, and removes its data, if there is any. */
export async function removeLocalPostgres(dataDir: string): Promise<void> {
  const place = await findPlace(dataDir);
  const running = await findPostmaster(place.dataDir);
  if (running) await stopPostmaster(running.pid, place.dataDir);
  await rm(place.dataDir, { recursive: true, force: true });
}
