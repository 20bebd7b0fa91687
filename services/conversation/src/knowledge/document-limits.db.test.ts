import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type Client, createClient as createConnectClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { type Channel, createClient, GrpcTransport, openChannel, type RpcClient } from "@parley/rpc";
import { ConversationService, KnowledgeAdminService } from "@parley/rpc/conversation";
import { describeWith, freePorts, nodeFlags, type RunningProcess, startProcess } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { hugeImagePdf, pdfBombs } from "../testing/document-bombs.ts";
import { largeTexts } from "../testing/large-texts.ts";
import { childrenOf, type MemoryPeaks, watchMemory } from "../testing/memory-watch.ts";
import { startTestQuota, type TestQuota } from "../testing/quota.ts";
import { adminFailure } from "../testing/system.ts";
import { createBot, openRequest } from "../testing/turns.ts";

/** 80 % of the chart's limit of 512 MiB. */
const MAX_MIB = 410;
/** The heap that Node chooses in a container of 512 MiB. */
const CONTAINER_HEAP = "--max-heap-size=259";
/** Keeps a reader busy for longer than its time limit. */
const SLOW = "_a__b".repeat(100_000);

describeWith("proc", "documents in a service with the chart's memory", suite, { timeout: 240_000 });

function suite() {
  let db: TestDatabase;
  let quota: TestQuota;
  let service: RunningProcess;
  let channel: Channel;
  let opsUrl: string;
  let bot: Bot;
  let knowledge: Client<typeof KnowledgeAdminService>;
  let conversation: RpcClient<typeof ConversationService>;

  beforeAll(async () => {
    db = await createTestDatabase();
    quota = await startTestQuota();
    bot = await createBot(db.database);
    await startService();
  });
  afterAll(async () => {
    channel.close();
    await service.stop();
    quota.close();
    await db.drop();
  });

  async function startService(): Promise<void> {
    const [grpcPort = 0, opsPort = 0] = await freePorts(2);
    opsUrl = `http://127.0.0.1:${opsPort}`;
    service = await startProcess({
      name: "conversation",
      command: process.execPath,
      args: [...nodeFlags, CONTAINER_HEAP, fileURLToPath(new URL("../main.ts", import.meta.url))],
      env: {
        DATABASE_URL: db.url,
        QUOTA_TARGET: quota.target,
        GRPC_PORT: String(grpcPort),
        OPS_PORT: String(opsPort),
        INTERNAL_TOKEN: "internal",
        ADMIN_TOKEN: "admin",
      },
      ready: () =>
        fetch(`${opsUrl}/healthz/ready`).then(
          (response) => response.ok,
          () => false,
        ),
    });
    await service.waitReady();
    const transport = createConnectTransport({
      baseUrl: opsUrl,
      httpVersion: "1.1",
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", "Bearer admin");
          return next(request);
        },
      ],
    });
    knowledge = createConnectClient(KnowledgeAdminService, transport);
    channel = openChannel({ target: `127.0.0.1:${grpcPort}`, retryable: [] });
    const grpc = new GrpcTransport(channel, (metadata) => metadata.set("authorization", "Bearer internal"));
    conversation = createClient(ConversationService, grpc);
  }

  const add = (name: string, format: string, content: string | Uint8Array, signal?: AbortSignal) =>
    knowledge.addSource(
      { workspaceId: bot.workspaceId, botSlug: bot.slug, name, format, content: Buffer.from(content as string) },
      signal ? { signal } : {},
    );
  const print = (name: string, { own, child, together }: MemoryPeaks) =>
    console.info(`${name}: service ${own} MiB + reading process ${child} MiB = ${together} MiB`);
  const readerStarted = () => expect.poll(() => childrenOf(service.pid), { timeout: 10_000 }).toHaveLength(1);
  const readerGone = (pid: number) => expect.poll(() => childrenOf(pid), { timeout: 10_000 }).toHaveLength(0);

  test.each(largeTexts())("an honest text of 4 MiB is read and stored: $name", async (text) => {
    const { name, format, content } = text;
    const { result, peaks } = await watchMemory(service.pid, () => add(name, format, content));
    print(name, peaks);
    expect(result.source?.chunks).toBeGreaterThan(1_000);
    expect(peaks.together).toBeLessThan(MAX_MIB);
  });

  test.each(Object.entries(pdfBombs()))("a PDF bomb is refused: %s", async (name, content) => {
    const { result, peaks } = await watchMemory(service.pid, () => adminFailure(add(name, "pdf", content)));
    print(`${name} (${content.length} bytes)`, peaks);
    expect(result).toMatchObject({ stable: "unreadable_document", message: expect.stringContaining("cannot be read") });
    expect(peaks.together).toBeLessThan(MAX_MIB);
  });

  test("a PDF with an image of 10,000 megapixels is read without it", async () => {
    const { result, peaks } = await watchMemory(service.pid, () => add("image", "pdf", hugeImagePdf()));
    print("image", peaks);
    expect(result.source).toMatchObject({ characters: "Hello".length });
    expect(peaks.together).toBeLessThan(MAX_MIB);
  });

  test("a body that inflates to 256 MiB is refused", async () => {
    const post = (token: string) =>
      fetch(`${opsUrl}/parley.conversation.v1.KnowledgeAdminService/AddSource`, {
        method: "POST",
        headers: { "content-type": "application/json", "content-encoding": "gzip", authorization: `Bearer ${token}` },
        body: gzipSync(Buffer.alloc(1 << 28, " ")),
      });
    const { result, peaks } = await watchMemory(service.pid, async () => [await post("admin"), await post("wrong")]);
    print("256 MiB of JSON, compressed", peaks);
    expect(result.map(({ status }) => status)).toEqual([429, 401]);
    expect(peaks.together).toBeLessThan(MAX_MIB);
  });

  test("turns are opened without delay while bombs are read", async () => {
    const [bomb = new Uint8Array()] = Object.values(pdfBombs());
    const latencies = async (turns: number) => {
      const taken: number[] = [];
      for (let turn = 0; turn < turns; turn++) {
        const start = performance.now();
        await conversation.openTurn(openRequest(bot), { timeoutMs: 10_000 });
        taken.push(performance.now() - start);
      }
      taken.sort((one, other) => one - other);
      return { median: Math.round(taken[turns / 2] ?? 0), p95: Math.round(taken[Math.floor(turns * 0.95)] ?? 0) };
    };
    const alone = await latencies(100);
    let isDone = false;
    const reading = (async () => {
      for (let bombs = 0; ; bombs++) {
        if (isDone) return bombs;
        await adminFailure(add("bomb", "pdf", bomb));
      }
    })();
    const beside = await latencies(100).finally(() => {
      isDone = true;
    });
    const bombs = await reading;
    console.info(
      `OpenTurn alone: median ${alone.median} ms, p95 ${alone.p95} ms; beside ${bombs} bombs: median ${beside.median} ms, p95 ${beside.p95} ms`,
    );
    expect(bombs).toBeGreaterThan(0);
    expect(beside.p95).toBeLessThan(2_000);
  });

  test("documents that come at once are read one after the other", async () => {
    const sentences = "A sentence of some length.\n\n".repeat(20_000);
    const { result, peaks } = await watchMemory(service.pid, () =>
      Promise.all(["one", "two", "three"].map((name) => add(name, "txt", sentences))),
    );
    expect(result.map(({ source }) => source?.name)).toEqual(["one", "two", "three"]);
    expect(peaks.children).toBe(1);
  });

  test("a caller that cancels ends the reading, and the next document is read", async () => {
    const cancelled = new AbortController();
    const slow = adminFailure(add("slow", "md", SLOW, cancelled.signal));
    await readerStarted();
    cancelled.abort();
    await slow;
    await readerGone(service.pid);
    expect((await add("fine", "txt", "Fine.")).source).toMatchObject({ chunks: 1 });
  });

  test("a reading process has no environment; if it crashes, the caller gets an error, and the next document is read", async () => {
    const slow = adminFailure(add("slow", "md", SLOW));
    await readerStarted();
    const [reader = 0] = childrenOf(service.pid);
    // Between fork and exec the new process still shows the service's environment.
    await expect.poll(() => readFileSync(`/proc/${reader}/environ`, "utf8")).toBe("");
    process.kill(reader, "SIGSEGV");
    expect(await slow).toMatchObject({ stable: "unreadable_document", message: expect.stringContaining("crashed") });
    expect((await add("fine", "txt", "Fine.")).source).toMatchObject({ chunks: 1 });
  });

  test("a service that is killed takes the reading process with it", async () => {
    const slow = adminFailure(add("slow", "md", SLOW));
    await readerStarted();
    const [reader = 0] = childrenOf(service.pid);
    await sleep(500);
    await service.kill9();
    await slow;
    await expect.poll(() => isRunning(reader), { timeout: 5_000 }).toBe(false);
    channel.close();
    await startService();
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
