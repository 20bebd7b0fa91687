import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { KnowledgeAdminService } from "@parley/rpc/conversation";
import { describeWith, isFullRun } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { hugeImagePdf, pdfBombs } from "../testing/document-bombs.ts";
import { largeTexts } from "../testing/large-texts.ts";
import { childrenOf, type MemoryPeaks, watchMemory } from "../testing/memory-watch.ts";
import { startTestQuota, type TestQuota } from "../testing/quota.ts";
import { ADMIN_TOKEN, type ServiceProcess, startServiceProcess } from "../testing/service.ts";
import { adminFailure } from "../testing/system.ts";
import { createBot, newOpenRequest } from "../testing/turns.ts";

/** 80 % of the chart's memory limit of 512 MiB. */
const MAX_MIB = 410;
/** Node's default heap limit in a container of 512 MiB. */
const CONTAINER_HEAP = "--max-heap-size=259";
/** Markdown whose reading exceeds the time limit. */
const SLOW = "_a__b".repeat(100_000);

describeWith("proc", "adding documents to a service with the chart's memory limit", suite, { timeout: 240_000 });

function suite() {
  let db: TestDatabase;
  let quota: TestQuota;
  let service: ServiceProcess;
  let bot: Bot;

  beforeAll(async () => {
    db = await createTestDatabase();
    quota = await startTestQuota();
    service = await startService();
  });
  // The service makes a workspace wait after unreadable documents, so each test has its own workspace.
  beforeEach(async () => {
    bot = await createBot(db.database);
  });
  afterAll(async () => {
    service.close();
    await service.process.stop();
    quota.close();
    await db.drop();
  });

  const startService = () => startServiceProcess(db.url, quota.target, { flags: [CONTAINER_HEAP] });
  const add = (name: string, format: string, content: string | Uint8Array, signal?: AbortSignal) =>
    addTo(bot, { name, format, content: Buffer.from(content as string) }, signal);
  const addTo = (
    { workspaceId, slug: botSlug }: Bot,
    source: { name: string; format: string; content: Buffer },
    signal?: AbortSignal,
  ) =>
    service
      .createAdminClient(KnowledgeAdminService)
      .addSource({ workspaceId, botSlug, ...source }, signal ? { signal } : {});
  const waitForReaders = (count: number) =>
    expect.poll(() => childrenOf(service.process.pid), { timeout: 30_000 }).toHaveLength(count);

  /** Runs `work`. Fails if the service and its reading process together use MAX_MIB or more. */
  async function withinMemoryLimit<T>(
    name: string,
    work: () => Promise<T>,
  ): Promise<{ result: T; peaks: MemoryPeaks }> {
    const watched = await watchMemory(service.process.pid, work);
    const { own, child, total } = watched.peaks;
    console.info(`${name}: service ${own} MiB + reading process ${child} MiB = ${total} MiB`);
    expect(total).toBeLessThan(MAX_MIB);
    return watched;
  }

  test.each(isFullRun ? largeTexts() : largeTexts().slice(0, 1))(
    "reads and stores an ordinary large text: $name",
    async ({ name, format, content }) => {
      const { result } = await withinMemoryLimit(name, () => add(name, format, content));
      expect(result.source?.chunks).toBeGreaterThan(1_000);
    },
  );

  test.each(Object.entries(pdfBombs()))("refuses a PDF bomb: %s", async (name, content) => {
    const { result } = await withinMemoryLimit(`${name} (${content.length} bytes)`, () =>
      adminFailure(add(name, "pdf", content)),
    );
    expect(result).toMatchObject({
      parleyCode: "unreadable_document",
      message: expect.stringContaining("cannot be read"),
    });
  });

  test("reads the text of a PDF with an image of 10,000 megapixels", async () => {
    const { result } = await withinMemoryLimit("image", () => add("image", "pdf", hugeImagePdf()));
    expect(result.source).toMatchObject({ characters: "Hello".length });
  });

  test("refuses a request body that decompresses to 256 MiB", async () => {
    const post = (token: string) =>
      fetch(`${service.opsUrl}/parley.conversation.v1.KnowledgeAdminService/AddSource`, {
        method: "POST",
        headers: { "content-type": "application/json", "content-encoding": "gzip", authorization: `Bearer ${token}` },
        body: gzipSync(Buffer.alloc(1 << 28, " ")),
      });
    const { result } = await withinMemoryLimit("256 MiB of JSON, compressed", async () => [
      await post(ADMIN_TOKEN),
      await post("wrong"),
    ]);
    // Connect maps resource_exhausted, the error for a body above the limit, to 429. With a wrong token, the service does not read the body.
    expect(result.map(({ status }) => status)).toEqual([429, 401]);
  });

  test("opens 95 % of turns within 2 s while it reads PDF bombs", async () => {
    const content = Buffer.from(Object.values(pdfBombs())[0] ?? "");
    const measureLatencies = async (turns: number) => {
      const latencies: number[] = [];
      for (let turn = 0; turn < turns; turn++) {
        const start = performance.now();
        await service.conversation.openTurn(newOpenRequest(bot), { timeoutMs: 10_000 });
        latencies.push(performance.now() - start);
      }
      latencies.sort((one, other) => one - other);
      return {
        median: Math.round(latencies[turns / 2] ?? 0),
        p95: Math.round(latencies[Math.floor(turns * 0.95)] ?? 0),
      };
    };
    const idle = await measureLatencies(100);
    let isDone = false;
    const reading = (async () => {
      for (let bombs = 0; ; bombs++) {
        if (isDone) return bombs;
        const other = await createBot(db.database);
        await adminFailure(addTo(other, { name: "bomb", format: "pdf", content }));
      }
    })();
    const busy = await measureLatencies(100).finally(() => {
      isDone = true;
    });
    const bombs = await reading;
    console.info(
      `OpenTurn, idle: median ${idle.median} ms, p95 ${idle.p95} ms; during ${bombs} bombs: median ${busy.median} ms, p95 ${busy.p95} ms`,
    );
    expect(bombs).toBeGreaterThan(0);
    expect(busy.p95).toBeLessThan(2_000);
  });

  test("reads documents one at a time, even if they arrive at the same time", async () => {
    const sentences = "A sentence of some length.\n\n".repeat(20_000);
    const { result, peaks } = await watchMemory(service.process.pid, () =>
      Promise.all(["one", "two", "three"].map((name) => add(name, "txt", sentences))),
    );
    expect(result.map(({ source }) => source?.name)).toEqual(["one", "two", "three"]);
    expect(peaks.children).toBe(1);
  });

  test("ends the reading process when the caller cancels, and reads the next document", async () => {
    const caller = new AbortController();
    const slow = adminFailure(add("slow", "md", SLOW, caller.signal));
    await waitForReaders(1);
    caller.abort();
    await slow;
    await waitForReaders(0);
    expect((await add("fine", "txt", "Fine.")).source).toMatchObject({ chunks: 1 });
  });

  test("the reading process has no environment variables; if it crashes, the caller gets an error and the next document is read", async () => {
    // A process that has read another document is replaced if it crashes.
    await waitForReaders(0);
    const slow = adminFailure(add("slow", "md", SLOW));
    await waitForReaders(1);
    const [reader = 0] = childrenOf(service.process.pid);
    // Between fork and exec the new process still has the service's environment.
    await expect.poll(() => readFileSync(`/proc/${reader}/environ`, "utf8")).toBe("");
    process.kill(reader, "SIGSEGV");
    expect(await slow).toMatchObject({
      parleyCode: "unreadable_document",
      message: expect.stringContaining("crashed"),
    });
    expect((await add("fine", "txt", "Fine.")).source).toMatchObject({ chunks: 1 });
  });

  test("the reading process ends when the service is killed", async () => {
    const slow = adminFailure(add("slow", "md", SLOW));
    await waitForReaders(1);
    const [reader = 0] = childrenOf(service.process.pid);
    await sleep(500);
    await service.process.kill9();
    await slow;
    // The reading process checks every 5 ms whether its parent runs, but with the lowest priority, so a check may be late.
    await expect.poll(() => isRunning(reader), { timeout: 30_000 }).toBe(false);
    service.close();
    service = await startService();
  });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
