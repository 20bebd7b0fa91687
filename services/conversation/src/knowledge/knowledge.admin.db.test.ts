import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Code } from "@connectrpc/connect";
import { EvaluationAdminService, KnowledgeAdminService } from "@parley/rpc/conversation";
import { freePort, startConnectProxy } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { startTestService, type TestService } from "../testing/service.ts";
import { smallPdf } from "../testing/small-pdf.ts";
import { adminFailure, RFC_3339, useTestSystem } from "../testing/system.ts";
import { botFields, createBot } from "../testing/turns.ts";

const system = useTestSystem();

describe("a knowledge source with content", () => {
  test("is added, replaced, listed and removed by name", async () => {
    const knowledge = system.createAdminClient(KnowledgeAdminService);
    const bot = await createBot(system.database);
    const add = (name: string, format: string, content: string) =>
      knowledge.addSource({ ...botFields(bot), name, format, content: Buffer.from(content) });
    await add("b.html", "html", "<h1>Hours</h1><p>Nine to six.</p>");
    const { source } = await add(" a.md ", "md", "\uFEFF# Plans\n\nFree: **100**.");
    expect(source).toMatchObject({
      name: "a.md",
      format: "md",
      chunks: 1,
      characters: 10,
      updatedAt: expect.stringMatching(RFC_3339),
    });
    expect((await add("a.md", "txt", "Other.")).source).toMatchObject({ id: source?.id, format: "txt" });
    expect((await knowledge.listSources(botFields(bot))).sources.map((each) => each.name)).toEqual(["a.md", "b.html"]);
    const [composed, decomposed] = ["café.md".normalize("NFC"), "café.md".normalize("NFD")];
    await knowledge.addSource({ ...botFields(bot), name: decomposed, format: "md", content: Buffer.from("Coffee.") });
    expect((await knowledge.getSource({ ...botFields(bot), name: decomposed })).source?.name).toBe(composed);
    await knowledge.removeSource({ ...botFields(bot), name: composed });
    await knowledge.removeSource({ ...botFields(bot), name: "a.md" });
    expect(await adminFailure(knowledge.removeSource({ ...botFields(bot), name: "a.md" }))).toMatchObject({
      parleyCode: "source_not_found",
    });
  });
});

describe("the documents of a bot", () => {
  const addTo = (bot: Bot) => {
    const knowledge = system.createAdminClient(KnowledgeAdminService);
    const add = async (name: string, content = "Text.", more: { format?: string; expectedUpdatedAt?: string } = {}) =>
      (
        await knowledge.addSource({
          ...botFields(bot),
          name,
          format: "md",
          content: Buffer.from(content),
          ...more,
        })
      ).source;
    return { knowledge, add };
  };

  test("are listed in pages, and found by a part of the name in any case", async () => {
    const bot = await createBot(system.database);
    const { knowledge, add } = addTo(bot);
    for (const name of ["Delivery.md", "hours.md", "delivery abroad.md", "100%_off.md"]) await add(name);
    await addTo(await createBot(system.database, { workspaceId: bot.workspaceId })).add("delivery of others.md");
    const list = async (fields: { query?: string; pageSize?: number; pageToken?: string }) =>
      knowledge.listSources({ ...botFields(bot), ...fields });
    const names: string[] = [];
    let pageToken = "";
    do {
      const page = await list({ pageSize: 3, pageToken });
      expect(page.matches).toBe(4);
      names.push(...page.sources.map(({ name }) => name));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(names).toEqual((await list({})).sources.map(({ name }) => name));
    expect(new Set(names)).toEqual(new Set(["Delivery.md", "hours.md", "delivery abroad.md", "100%_off.md"]));
    const found = await list({ query: "DELIVERY", pageSize: 1 });
    expect(found).toMatchObject({ matches: 2, sources: [{ name: expect.stringMatching(/^delivery/i) }] });
    const { sources } = await list({ query: "delivery", pageSize: 1, pageToken: found.nextPageToken });
    expect(sources).toHaveLength(1);
    expect(sources[0]?.name).not.toBe(found.sources[0]?.name);
    expect((await list({ query: "0%_" })).sources.map(({ name }) => name)).toEqual(["100%_off.md"]);
    expect(await list({ query: "absent" })).toMatchObject({ sources: [], matches: 0, nextPageToken: "" });
    for (const invalid of [{ pageSize: 501 }, { pageSize: -1 }, { query: "a\0" }, { pageToken: "x".repeat(201) }])
      expect(await adminFailure(list(invalid))).toMatchObject({ parleyCode: "invalid_argument" });
  });

  test("are read in passages, in the order of the document, page by page", async () => {
    const bot = await createBot(system.database);
    const { knowledge, add } = addTo(bot);
    await add("long.md", Array.from({ length: 5 }, (_, at) => `# Part ${at}\n\nText ${at}.`).join("\n\n"));
    const read = (fields: { name?: string; pageSize?: number; pageToken?: string }) =>
      knowledge.getSource({ ...botFields(bot), name: "long.md", ...fields });
    const first = await read({ pageSize: 3 });
    expect(first.source).toMatchObject({ name: "long.md", chunks: 5, hasText: true });
    const { passages, nextPageToken } = await read({ pageSize: 3, pageToken: first.nextPageToken });
    expect([...first.passages, ...passages].map(({ heading, text }) => `${heading}: ${text}`)).toEqual(
      Array.from({ length: 5 }, (_, at) => `Part ${at}: Text ${at}.`),
    );
    expect(nextPageToken).toBe("");
    expect(await adminFailure(read({ name: "absent.md" }))).toMatchObject({ parleyCode: "source_not_found" });
    expect(await adminFailure(read({ name: "a\0" }))).toMatchObject({ parleyCode: "source_not_found" });
    for (const invalid of [{ pageSize: 201 }, { pageToken: "x" }])
      expect(await adminFailure(read(invalid))).toMatchObject({ parleyCode: "invalid_argument" });
  });

  test("keep the text as it was added, unless their format prevents it", async () => {
    const bot = await createBot(system.database);
    const { knowledge, add } = addTo(bot);
    const readText = async (name: string) => (await knowledge.getSourceText({ ...botFields(bot), name })).text;
    expect(await add("a.md", "\uFEFF---\ntitle: x\n---\n# Plans\n\n**Free**")).toMatchObject({ hasText: true });
    expect(await readText("a.md")).toBe("---\ntitle: x\n---\n# Plans\n\n**Free**");
    expect(await add("a.md", "# New\n\nText.")).toMatchObject({ hasText: true });
    expect(await readText("a.md")).toBe("# New\n\nText.");
    expect(await add("b.html", "<p>Hours", { format: "html" })).toMatchObject({ hasText: false });
    expect(await adminFailure(readText("b.html"))).toMatchObject({ parleyCode: "text_not_stored" });
    expect(await adminFailure(readText("absent"))).toMatchObject({ parleyCode: "source_not_found" });
    expect((await knowledge.listSources(botFields(bot))).sources.map(({ hasText }) => hasText)).toEqual([true, false]);
  });

  test("are not replaced by an edit of an older text", async () => {
    const bot = await createBot(system.database);
    const { knowledge, add } = addTo(bot);
    const first = await add("a.md", "First.");
    const second = await add("a.md", "Second.", { expectedUpdatedAt: first?.updatedAt ?? "" });
    expect(second).toMatchObject({ id: first?.id });
    const outdated = { expectedUpdatedAt: first?.updatedAt ?? "" };
    expect(await adminFailure(add("a.md", "Third.", outdated))).toMatchObject({ parleyCode: "source_changed" });
    expect(await adminFailure(add("absent.md", "Third.", outdated))).toMatchObject({ parleyCode: "source_changed" });
    expect(await knowledge.getSourceText({ ...botFields(bot), name: "a.md" })).toMatchObject({ text: "Second." });
  });

  test("keep their id, text and evaluation cases when they are renamed", async () => {
    const bot = await createBot(system.database);
    const { knowledge, add } = addTo(bot);
    const evaluations = system.createAdminClient(EvaluationAdminService);
    const rename = (name: string, newName: string) => knowledge.renameSource({ ...botFields(bot), name, newName });
    const added = await add("a.md", "# Delivery\n\nDaily.");
    await add("b.md");
    await evaluations.addCase({ ...botFields(bot), question: "When is delivery?", document: "a.md" });
    const { source } = await rename("a.md", " delivery.md ");
    expect(source).toEqual({ ...added, name: "delivery.md" });
    expect(await knowledge.getSourceText({ ...botFields(bot), name: "delivery.md" })).toMatchObject({
      text: "# Delivery\n\nDaily.",
    });
    const { cases } = await evaluations.getEvaluation(botFields(bot));
    expect(cases).toMatchObject([{ document: "delivery.md" }]);
    expect((await rename("b.md", "b.md")).source).toMatchObject({ name: "b.md" });
    expect(await adminFailure(rename("b.md", "delivery.md"))).toMatchObject({
      code: Code.AlreadyExists,
      parleyCode: "source_exists",
    });
    expect(await adminFailure(rename("a.md", "c.md"))).toMatchObject({ parleyCode: "source_not_found" });
    expect(await adminFailure(rename("b.md", " "))).toMatchObject({ parleyCode: "invalid_argument" });
  });
});

describe("a knowledge source with text in another charset", () => {
  const addText = (bot: Bot, name: string, content: Uint8Array) =>
    system
      .createAdminClient(KnowledgeAdminService)
      .addSource({ ...botFields(bot), name, format: name.split(".").at(-1) ?? "", content });
  const swapped = (text: string) => Buffer.from(text, "utf16le").swap16();

  test.each<[string, string, Uint8Array]>([
    ["UTF-16LE with a byte order mark", "a.txt", Buffer.from("\uFEFFGrüße 🌍", "utf16le")],
    ["UTF-16BE with a byte order mark", "a.md", swapped("\uFEFFGrüße 🌍")],
    ["UTF-16LE without a byte order mark", "a.txt", Buffer.from("Grüße 🌍", "utf16le")],
    ["UTF-8 with a byte order mark", "a.txt", Buffer.from("\uFEFFGrüße 🌍")],
    ["HTML in UTF-16LE", "a.html", Buffer.from('\uFEFF<meta charset="utf-8"><p>Grüße 🌍</p>', "utf16le")],
    [
      "HTML in the charset of its meta element",
      "a.html",
      Buffer.from('<meta charset="windows-1252"><p>Gr\xfc\xdfe xx</p>', "latin1"),
    ],
    [
      "valid UTF-8, whatever its meta element declares",
      "a.html",
      Buffer.from('<meta charset="latin1"><p>Grüße 🌍</p>'),
    ],
  ])("is read: %s", async (_, name, content) => {
    const bot = await createBot(system.database);
    expect((await addText(bot, name, content)).source).toMatchObject({ characters: "Grüße 🌍".length, chunks: 1 });
    const { rows } = await system.database.query(
      "SELECT chunk.content AS text FROM conversation.knowledge_chunks AS chunk JOIN conversation.knowledge_sources AS source ON source.source_id = chunk.source_id WHERE source.bot_id = $1",
      [bot.id],
    );
    expect(rows).toEqual([{ text: expect.stringContaining("Grüße") }]);
  });

  test.each<[string, string, Uint8Array]>([
    ["without a byte order mark", "a.txt", Buffer.from("Grüße", "latin1")],
    ["UTF-16 that is cut within a character", "a.txt", Buffer.from([0xff, 0xfe, 0x41, 0x00, 0x42])],
    ["UTF-16 with half of a surrogate pair", "a.txt", Buffer.from([0xff, 0xfe, 0x3c, 0xd8, 0x41, 0x00])],
    ["UTF-16 with NUL", "a.txt", Buffer.from("\uFEFFa\0b", "utf16le")],
    ["UTF-32", "a.txt", Buffer.from([0xff, 0xfe, 0, 0, 0x41, 0, 0, 0])],
  ])("is refused: %s", async (_, name, content) => {
    const bot = await createBot(system.database);
    expect(await adminFailure(addText(bot, name, content))).toMatchObject({
      code: Code.InvalidArgument,
      parleyCode: "invalid_argument",
    });
  });
});

describe("the knowledge of a workspace", () => {
  test("is bounded by its plan, over all bots; documents above a lowered limit stay, but cannot grow", async () => {
    const knowledge = system.createAdminClient(KnowledgeAdminService);
    const bot = await createBot(system.database);
    const other = await createBot(system.database, { workspaceId: bot.workspaceId });
    const { workspaceId } = bot;
    const setLimits = (maxKnowledgeDocuments: number, maxKnowledgeCharacters: number) =>
      system.quota.knowledgeLimits.set(workspaceId, { maxKnowledgeDocuments, maxKnowledgeCharacters });
    const add = (name: string, characters: number, of = bot) =>
      knowledge.addSource({ ...botFields(of), name, format: "txt", content: Buffer.from("x".repeat(characters)) });
    const refused = { code: Code.ResourceExhausted, parleyCode: "knowledge_limit_reached" };
    setLimits(2, 100);
    await add("a", 40);
    expect(await adminFailure(add("b", 61, other))).toMatchObject(refused);
    await add("b", 60, other);
    expect(await adminFailure(add("c", 1))).toMatchObject(refused);
    expect(await adminFailure(add("a", 41))).toMatchObject(refused);
    await add("a", 40);
    setLimits(1, 10);
    const { sources, usage } = await knowledge.listSources(botFields(bot));
    expect(sources).toMatchObject([{ name: "a", characters: 40 }]);
    expect(usage).toMatchObject({ documents: 2, characters: 100n, maxDocuments: 1, maxCharacters: 10 });
    expect(await adminFailure(add("a", 41))).toMatchObject(refused);
    await add("a", 30);
    await knowledge.removeSource({ ...botFields(other), name: "b" });
    expect((await knowledge.listSources(botFields(other))).usage).toMatchObject({ documents: 1, characters: 30n });
    system.quota.knowledgeLimits.delete(workspaceId);
    await add("c", 1_000);
  });

  test("does not exceed its plan by more than one document for each replica, when many are added at once", async () => {
    const second = await startTestService(system.databaseUrl, system.quota.target);
    onTestFinished(() => second.stop());
    const bot = await createBot(system.database);
    system.quota.knowledgeLimits.set(bot.workspaceId, { maxKnowledgeDocuments: 3, maxKnowledgeCharacters: 1_000_000 });
    const clients = [system, second].map((each) => each.createAdminClient(KnowledgeAdminService));
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, (_, index) =>
        clients[index % 2]?.addSource({
          ...botFields(bot),
          name: `d${index}`,
          format: "txt",
          content: Buffer.from("x"),
        }),
      ),
    );
    const added = results.filter(({ status }) => status === "fulfilled").length;
    expect(added).toBeGreaterThanOrEqual(3);
    expect(added).toBeLessThanOrEqual(4);
    const { usage } = await system.createAdminClient(KnowledgeAdminService).listSources(botFields(bot));
    expect(usage?.documents).toBe(added);
  }, 60_000);
});

describe("a knowledge source with a URL", () => {
  const pages = new Map<string, { status?: number; headers: Record<string, string>; body: string | Uint8Array }>();
  let server: Server;
  let origin: string;
  let requested: string[];
  let service: TestService;
  beforeAll(async () => {
    server = createServer((request, response) => {
      requested.push(`${request.socket.localAddress?.replace("::ffff:", "")}${request.url}`);
      if (request.url === "/silent") return;
      const { status = 200, headers, body } = pages.get(request.url ?? "") ?? { status: 404, headers: {}, body: "" };
      response.writeHead(status, headers).end(body);
    }).listen(0);
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    // The server can be reached at 127.0.0.2, which EGRESS_ALLOW permits, and at 127.0.0.1, which is refused as a private address.
    origin = `http://127.0.0.2:${port}`;
    service = await startTestService(system.databaseUrl, system.quota.target, { EGRESS_ALLOW: "127.0.0.2/32" });
  });
  beforeEach(() => {
    requested = [];
  });
  afterAll(async () => {
    await service.stop();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });
  const add = (bot: Bot, url: string, fields: object = {}) =>
    service.createAdminClient(KnowledgeAdminService).addSource({ ...botFields(bot), url, ...fields });
  const privateOrigin = () => origin.replace("127.0.0.2", "127.0.0.1");

  test("is fetched through EGRESS_PROXY if its address is public, and directly if EGRESS_ALLOW permits it", async () => {
    const proxy = await startConnectProxy();
    const environment = { EGRESS_ALLOW: "127.0.0.2/32", EGRESS_PROXY: proxy.url };
    const proxied = await startTestService(system.databaseUrl, system.quota.target, environment);
    onTestFinished(async () => {
      await proxied.stop();
      await proxy.close();
    });
    const bot = await createBot(system.database);
    pages.set("/proxied.md", { headers: { "content-type": "text/markdown" }, body: "We are open on Sundays." });
    // The test proxy connects every tunnel to 127.0.0.1. A direct request goes to 127.0.0.2.
    const publicOrigin = origin.replace("127.0.0.2", "93.184.215.14");
    const addThrough = (url: string) =>
      proxied.createAdminClient(KnowledgeAdminService).addSource({ ...botFields(bot), url });
    for (const each of [publicOrigin, origin])
      expect((await addThrough(`${each}/proxied.md`)).source).toMatchObject({ characters: 23 });
    expect(proxy.authorities).toEqual([new URL(publicOrigin).host]);
    await expect(addThrough(`${privateOrigin()}/proxied.md`)).rejects.toThrow(
      "the URL cannot be fetched: the server cannot be reached",
    );
    expect(requested).toEqual(["127.0.0.1/proxied.md", "127.0.0.2/proxied.md"]);
  });

  test("is fetched as HTML, Markdown, PDF or CSV, is named by its URL by default, and is replaced when it is added again", async () => {
    const bot = await createBot(system.database);
    pages.set("/a", {
      headers: { "content-type": "text/html; charset=iso-8859-1" },
      body: Buffer.from("<h1>Gr\xfc\xdfe</h1><p>Die Katze ist auf dem Dach und der Hund ist im Haus.", "latin1"),
    });
    pages.set("/b.md", {
      headers: { "content-type": "text/plain" },
      body: "# Plans\n\nThe free plan has **100** messages.",
    });
    pages.set("/c", {
      headers: { "content-type": "application/pdf" },
      body: smallPdf([[{ size: 11, y: 700, text: "We are open on Sundays." }]]),
    });
    pages.set("/d", {
      headers: { "content-type": "text/csv; charset=windows-1252" },
      body: Buffer.from("Produit;Prix\nCr\xeape;4,20", "latin1"),
    });
    pages.set("/old", { status: 302, headers: { location: "/b.md" }, body: "" });
    expect((await add(bot, `${origin}/a`)).source).toMatchObject({
      name: `${origin}/a`,
      url: `${origin}/a`,
      format: "html",
      language: "german",
    });
    expect((await add(bot, `${origin}/b.md`)).source).toMatchObject({
      format: "md",
      language: "english",
      characters: 31,
    });
    expect((await add(bot, `${origin}/c`, { name: "hours.pdf" })).source).toMatchObject({
      name: "hours.pdf",
      format: "pdf",
    });
    expect((await add(bot, `${origin}/d`)).source).toMatchObject({ format: "csv", characters: 27 });
    expect((await add(bot, `${origin}/old`)).source).toMatchObject({ format: "md" });
    const first = (await add(bot, `${origin}/b.md`)).source;
    pages.set("/b.md", {
      headers: { "content-type": "text/markdown" },
      body: "# Plans\n\nThe free plan has 200 messages.",
    });
    expect((await add(bot, `${origin}/b.md`)).source?.id).toBe(first?.id);
    const { sources } = await service.createAdminClient(KnowledgeAdminService).listSources(botFields(bot));
    expect(sources.map((each) => each.name)).toEqual([
      "hours.pdf",
      ...["a", "b.md", "d", "old"].map((path) => `${origin}/${path}`),
    ]);
  });

  test("is no longer fetched when the caller cancels, so that the next document does not wait for the fetch", async () => {
    const bot = await createBot(system.database);
    pages.set("/next", { headers: { "content-type": "text/plain" }, body: "We are open on Sundays." });
    const canceller = new AbortController();
    const request = { ...botFields(bot), url: `${origin}/silent` };
    const call = service.createAdminClient(KnowledgeAdminService).addSource(request, { signal: canceller.signal });
    await expect.poll(() => requested.length, { timeout: 5_000 }).toBe(1);
    canceller.abort();
    await expect(call).rejects.toThrow("abort");
    const startedAtMs = performance.now();
    await add(bot, `${origin}/next`);
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
  }, 30_000);

  test("delays no upload and no URL of another workspace while its servers send no response", async () => {
    const [slow, quick] = [await createBot(system.database), await createBot(system.database)];
    pages.set("/quick", { headers: { "content-type": "text/plain" }, body: "We are open on Sundays." });
    const canceller = new AbortController();
    const { addSource } = service.createAdminClient(KnowledgeAdminService);
    const slowCalls = Array.from({ length: 20 }, (_, index) =>
      addSource({ ...botFields(slow), url: `${origin}/silent`, name: `s${index}` }, { signal: canceller.signal }).catch(
        (error: unknown) => error,
      ),
    );
    // The workspace has two places.
    await expect.poll(() => requested.length, { timeout: 5_000 }).toBe(2);
    const startedAtMs = performance.now();
    await add(quick, "", { name: "upload", format: "txt", content: Buffer.from("Refunds take a week.") });
    await add(quick, `${origin}/quick`);
    // Reading takes about half a second. Each slow fetch would take 20 s.
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
    expect(requested.filter((each) => each.endsWith("/silent"))).toHaveLength(2);
    canceller.abort();
    await Promise.all(slowCalls);
  }, 60_000);

  test("is refused and not stored if the URL has a private address or redirects to one", async () => {
    const bot = await createBot(system.database);
    pages.set("/in", { status: 302, headers: { location: `${privateOrigin()}/secret` }, body: "" });
    pages.set("/meta", { status: 301, headers: { location: "http://169.254.169.254/latest/meta-data/" }, body: "" });
    for (const url of [
      `${privateOrigin()}/secret`,
      `${origin}/in`,
      `${origin}/meta`,
      "http://[::1]/",
      "http://10.0.0.1/",
    ])
      expect(await adminFailure(add(bot, url)), url).toMatchObject({
        code: Code.InvalidArgument,
        parleyCode: "unreachable",
      });
    expect(requested.filter((each) => !each.startsWith("127.0.0.2/"))).toEqual([]);
    expect((await service.createAdminClient(KnowledgeAdminService).listSources(botFields(bot))).sources).toEqual([]);
  });

  test("fails in the same way if its address is private, if its name has no address, and if its port is closed", async () => {
    const bot = await createBot(system.database);
    const closedPort = await freePort();
    const urls = [
      "http://10.0.0.1/",
      "http://localhost/",
      "http://no-such-host.invalid/",
      `http://127.0.0.2:${closedPort}/`,
    ];
    const failures = await Promise.all(urls.map((url) => adminFailure(add(bot, url))));
    expect(new Set(failures.map((each) => JSON.stringify(each))).size).toBe(1);
  });

  test("is refused with an error code if the response is not a usable document or the request is not valid", async () => {
    const bot = await createBot(system.database);
    pages.set("/png", { headers: { "content-type": "image/png" }, body: "x" });
    pages.set("/none", { headers: {}, body: "x" });
    pages.set("/charset", { headers: { "content-type": "text/html; charset=klingon" }, body: "x" });
    pages.set("/empty", { headers: { "content-type": "text/html" }, body: "<script>x</script>" });
    pages.set("/large", { headers: { "content-type": "text/plain", "content-length": String(17 << 20) }, body: "" });
    for (const [path, parleyCode] of [
      ["/png", "unsupported_document"],
      ["/none", "unsupported_document"],
      ["/charset", "unsupported_document"],
      ["/missing", "url_status"],
      ["/empty", "invalid_argument"],
      ["/large", "too_large"],
    ])
      expect(await adminFailure(add(bot, origin + path)), path).toMatchObject({
        code: Code.InvalidArgument,
        parleyCode,
      });
    for (const [url, fields, parleyCode] of [
      ["ftp://example.com/", {}, "url_refused"],
      ["not a url", {}, "url_refused"],
      [`${origin}/a`, { content: new Uint8Array([120]) }, "invalid_argument"],
      [`${origin}/a`, { language: "klingon" }, "invalid_argument"],
      [`${origin}/${"x".repeat(300)}`, {}, "invalid_argument"],
    ] as const)
      expect(await adminFailure(add(bot, url, fields)), url).toMatchObject({ parleyCode });
  });
});
