import { rm } from "node:fs/promises";
import { findPlace } from "./place.ts";
import { findPostmaster, stopPostmaster } from "./postmaster.ts";

/** Stops the server of the `dataDir` of startLocalPostgres, if it is running, and deletes its data. */
export async function removeLocalPostgres(dataDir: string): Promise<void> {
  const place = await findPlace(dataDir);
  const running = await findPostmaster(place.dataDir);
  if (running) await stopPostmaster(running.pid, place.dataDir);
  await rm(place.dataDir, { recursive: true, force: true });
}
