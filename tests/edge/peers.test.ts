import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readBalance } from "../support/books.ts";
import { type System, startSystem } from "../support/system.ts";
import { TRUST_THE_TESTS } from "../support/visitors.ts";
import { scriptedFaults } from "./scripted-faults.ts";
import { brokenWiresSuite } from "./suites/broken-wires.ts";
import { drainSuite } from "./suites/drain.ts";
import { beginFrozenPeer, type FrozenPeers, frozenPeersSuite } from "./suites/frozen-peers.ts";
import { beginSlowReaders, type SlowReaders, slowReadersSuite } from "./suites/slow-readers.ts";

// What happens between the services, and to readers that take nothing. What takes long begins with the system and is looked at last.
let system: System;
let frozen: FrozenPeers;
let slowReaders: Promise<SlowReaders>;

beforeAll(async () => {
  system = await startSystem({ script: scriptedFaults, env: { edge: TRUST_THE_TESTS } });
  frozen = {
    conversation: beginFrozenPeer(system, "conversation"),
    quota: beginFrozenPeer(system, "quota"),
    "llm-proxy": beginFrozenPeer(system, "llm-proxy"),
  };
  slowReaders = beginSlowReaders(system);
  // A failure is the test's to report, not the process's.
  for (const begun of [...Object.values(frozen), slowReaders]) begun.catch(() => undefined);
});
afterAll(() => system.stop());

describe("a broken wire", () => brokenWiresSuite(() => system));
describe("drain", () => drainSuite(() => system));
describe("a frozen peer", () => frozenPeersSuite(() => frozen));
describe("slow readers", () => slowReadersSuite(() => slowReaders));

test("and after all of it nothing is held, and the books balance", async () => {
  await expect
    .poll(() => readBalance(system.database), { timeout: 50_000, interval: 500 })
    .toMatchObject({ held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
});
