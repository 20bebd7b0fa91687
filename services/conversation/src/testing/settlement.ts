import { QuotaService } from "@parley/rpc/quota";
import {
  connectPeer,
  createLogger,
  type Database,
  fixedTokens,
  Lifecycle,
  Registry,
  singleShard,
} from "@parley/service-kit";
import { afterEach, beforeEach } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { createSettleLags, registerOutboxGauges } from "../metrics.ts";
import { measureOutbox } from "../settlement/outbox.store.ts";
import { Settler } from "../settlement/settler.worker.ts";
import { closeTurn } from "../turns/close-turn.store.ts";
import { openTurn } from "../turns/open-turn.store.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { startTestQuota, type TestQuota } from "./quota.ts";
import { createBot, newClosing, newTurn } from "./turns.ts";

type SettlerOptions = {
  database?: Database;
  registry?: Registry;
  /** Replaces the settler's pause between two batches. */
  waitForMoreTurns?: (signal: AbortSignal) => Promise<unknown>;
};

/** Gives each test its own database with a bot, and a fake quota service. */
export function useTestSettlement() {
  const log = createLogger("test", "silent");
  let lifecycle: Lifecycle;
  const system = {} as { db: TestDatabase; quota: TestQuota; bot: Bot };

  beforeEach(async () => {
    const db = await createTestDatabase();
    const quota = await startTestQuota();
    Object.assign(system, { db, quota, bot: await createBot(db.database) });
    lifecycle = new Lifecycle(log);
    lifecycle.onClose("database", () => db.drop());
    lifecycle.onClose("quota", () => quota.close());
  });
  afterEach(() => lifecycle.close());

  function newSettler({
    database = system.db.database,
    registry = new Registry(),
    waitForMoreTurns,
  }: SettlerOptions = {}) {
    const { target } = system.quota;
    const quota = connectPeer(QuotaService, { target, internalTokens: fixedTokens("t") }, lifecycle);
    const { shards } = singleShard(database);
    registerOutboxGauges(registry, shards, log);
    const [lag = { observe: () => undefined }] = createSettleLags(registry, shards);
    const settler = new Settler({ database, quota, lag, log, isOnlyShard: true, waitForMoreTurns });
    lifecycle.onClose("settler", () => settler.stop());
    return settler;
  }

  /** Opens and closes turns of the bot. Returns the closed turns, which are not settled yet. */
  async function runTurns(count: number) {
    const turns = Array.from({ length: count }, () => newTurn(system.bot));
    await Promise.all(turns.map((turn) => openTurn(system.db.database, turn)));
    return (await Promise.all(turns.map((turn) => closeTurn(system.db.database, newClosing(turn))))).filter(
      (closed) => closed !== undefined,
    );
  }

  const readOutboxDepth = async () => (await measureOutbox(system.db.database)).depth;

  return Object.assign(system, { newSettler, runTurns, readOutboxDepth });
}
