import { setTimeout as sleep } from "node:timers/promises";
import type { TestPostgres } from "@parley/test-support";
import { databaseOf } from "../database.ts";
import { SERVICES_WITH_DATABASE } from "../processes.ts";
import { shuffle } from "../random.ts";
import type { System, Tenant } from "../system.ts";
import { visit } from "../visitors.ts";
import {
  backUp,
  countDoneTurns,
  type DatabaseProxies,
  killDatabase,
  makeReadOnly,
  stallDatabase,
} from "./database-faults.ts";

/** The recoveries from a fault. A recovery lasts from the fault's end until a visitor gets a whole reply. */
export type FaultReport = {
  fault: string;
  /** How often the fault was injected. */
  count: number;
  /** Infinity if a visitor got no whole reply within two minutes. */
  slowestRecoverySeconds: number;
  recoveryLimitSeconds: number;
};

export type FaultTarget = {
  system: System;
  postgres: TestPostgres;
  proxies: DatabaseProxies;
  tenants: readonly Tenant[];
};

/** A restore waits until this many replies have completed since its backup, or until the timeout. */
const REPLIES_BEFORE_RESTORE = 50;
const REPLIES_BEFORE_RESTORE_TIMEOUT_MS = 120_000;
const PAUSE_MS = 2_000;
const RECOVERY_TIMEOUT_MS = 120_000;
/** The documented maximum time of a recovery from a failover. */
const MAX_FAILOVER_SECONDS = 30;
const FAILOVER_FAULTS: ReadonlySet<string> = new Set([
  "database killed",
  "connections silently dropped",
  "database read-only",
  "quota restored",
  "conversation restored",
]);

const randomBetween = (low: number, high: number) => low + Math.random() * (high - low);

/** Injects the faults of databases and clocks one after the other: each once, in random order, then all again. */
export class FaultInjector {
  /** Done turns that restores of conversation's tables lost. */
  lostReplies = 0;
  /** Restores that began after fewer than REPLIES_BEFORE_RESTORE replies, because the timeout had passed. */
  restoresAfterFewReplies = 0;
  /** True from the end of a fault until a visitor gets a whole reply, or until RECOVERY_TIMEOUT_MS has passed. */
  isRecovering: boolean = false;
  readonly #target: FaultTarget;
  readonly #progress: (line: string) => void;
  readonly #recoveries = new Map<string, number[]>();
  readonly #faults: Readonly<Record<string, () => Promise<string>>>;

  constructor(target: FaultTarget, progress: (line: string) => void) {
    this.#target = target;
    this.#progress = progress;
    const { system, postgres, proxies } = target;
    const randomProxy = () => {
      const name = SERVICES_WITH_DATABASE[Math.floor(Math.random() * SERVICES_WITH_DATABASE.length)] ?? "quota";
      return { name, proxy: proxies[name] };
    };
    this.#faults = {
      "database killed": async () => {
        const ms = randomBetween(2_000, 20_000);
        const servers = [postgres, ...(system.shards ? [system.shards.secondServer] : [])];
        await killDatabase(servers[Math.floor(Math.random() * servers.length)] ?? postgres, ms);
        return `down for ${seconds(ms)}`;
      },
      "connections silently dropped": async () => {
        const { name, proxy } = randomProxy();
        proxy.stallOpenConnections();
        return `of ${name}`;
      },
      "database stalled": async () => {
        const { name, proxy } = randomProxy();
        const ms = randomBetween(5_000, 60_000);
        await stallDatabase([proxy], ms);
        return `for ${name}, for ${seconds(ms)}`;
      },
      "database read-only": async () => {
        const ms = randomBetween(2_000, 15_000);
        await makeReadOnly(system.database, ms);
        return `for ${seconds(ms)}`;
      },
      "clocks jumped": async () => {
        for (const service of [...system.edges, system.conversation, system.quota, system.llm])
          service.process().signal("SIGUSR2");
        return "of every service, by up to an hour";
      },
      "quota restored": () => this.#restore("quota"),
      "conversation restored": () => this.#restore("conversation"),
    };
  }

  async run(deadline: number): Promise<void> {
    while (performance.now() < deadline)
      for (const fault of shuffle(Object.keys(this.#faults))) {
        if (performance.now() >= deadline) return;
        await this.#inject(fault);
        await sleep(PAUSE_MS);
      }
  }

  reports(): FaultReport[] {
    return Object.keys(this.#faults).map((fault) => {
      const recoveries = this.#recoveries.get(fault) ?? [];
      const recoveryLimitSeconds = FAILOVER_FAULTS.has(fault) ? MAX_FAILOVER_SECONDS : RECOVERY_TIMEOUT_MS / 1_000;
      const slowestRecoverySeconds = Math.max(0, ...recoveries);
      return { fault, count: recoveries.length, slowestRecoverySeconds, recoveryLimitSeconds };
    });
  }

  async #inject(fault: string): Promise<void> {
    const details = await this.#faults[fault]?.();
    const endedAt = performance.now();
    this.isRecovering = true;
    const isRecovered = await this.#waitForReply();
    this.isRecovering = false;
    const recoveryMs = isRecovered ? performance.now() - endedAt : Number.POSITIVE_INFINITY;
    this.#recoveries.set(fault, [...(this.#recoveries.get(fault) ?? []), recoveryMs / 1_000]);
    const recovery = isRecovered ? `first whole reply after ${seconds(recoveryMs)}` : "no whole reply in time";
    this.#progress(`${fault}: ${details}; ${recovery}`);
  }

  /** Waits until a visitor gets a whole reply. Returns false if none comes in time. */
  async #waitForReply(): Promise<boolean> {
    const { system, tenants } = this.#target;
    const [tenant] = tenants;
    if (tenant === undefined) throw new Error("there is no tenant");
    const deadline = performance.now() + RECOVERY_TIMEOUT_MS;
    for (let attempt = 0; performance.now() < deadline; attempt++) {
      const result = await visit(system.url(attempt % system.edges.length), tenant);
      if (result.kind === "stream" && result.finishReason === "stop") return true;
      await sleep(100);
    }
    return false;
  }

  async #restore(service: "conversation" | "quota"): Promise<string> {
    const { system, proxies, tenants } = this.#target;
    // With shards, restores the one of the first tenant, which has replies all the time.
    const database = databaseOf(system, tenants[0]?.workspaceId ?? "");
    const backup = await backUp(database, service, proxies[service]);
    const deadline = performance.now() + REPLIES_BEFORE_RESTORE_TIMEOUT_MS;
    let done = await countDoneTurns(database);
    while (done - backup.done < REPLIES_BEFORE_RESTORE && performance.now() < deadline) {
      await sleep(100);
      done = await countDoneTurns(database);
    }
    if (done - backup.done < REPLIES_BEFORE_RESTORE) this.restoresAfterFewReplies++;
    this.lostReplies += await backup.restore();
    return `${done - backup.done} replies after its backup`;
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
