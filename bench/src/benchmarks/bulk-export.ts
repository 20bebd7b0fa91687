import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { CONSOLE_WORKSPACE, requestOwnersToken } from "../../../tests/system/console.ts";
import { measurePeak, residentBytes } from "../support/cpu.ts";
import type { OwnersTestbed } from "../support/owners-testbed.ts";
import { copyWithPsql, type Transfer } from "../support/psql.ts";
import { median } from "../support/statistics.ts";
import { atLeast, atMost, type Figure, type RunOptions } from "./benchmark.ts";

/** Goal for psql's time ÷ the export's time. */
const MIN_RATIO = 0.5;
const MAX_MEMORY_GROWTH_MB = 32;
const MAX_CUTS = 10;
const SAMPLE_INTERVAL_MS = 20;
const MB = 1024 * 1024;
const LINE_FEED = 10;
/** Respects the rate limit of 10 exports a minute. */
export const PAUSE_BETWEEN_EXPORTS_MS = 6_000;

/**
 * Measures an export of every conversation of the owner's workspace, and compares it with a copy of the same messages by psql. Also counts the
 * lines that are lost or doubled when an export is cut and continued.
 */
export async function measureBulkExport(
  bench: OwnersTestbed,
  { rounds }: RunOptions,
  progress: (line: string) => void,
): Promise<Figure[]> {
  const { system } = bench.testbed;
  const pids = [system.edges[0]?.process().pid ?? 0, system.conversation.process().pid];
  const resident = () => pids.reduce((total, pid) => total + residentBytes(pid), 0);
  // The first export is not measured, because it grows the processes' heaps, which do not shrink again.
  const firstExport = await download(bench);
  const ratios: number[] = [];
  const growths: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    const copied = await copyMessages(bench);
    await sleep(PAUSE_BETWEEN_EXPORTS_MS);
    const before = resident();
    const { result: exported, peak } = await measurePeak(resident, SAMPLE_INTERVAL_MS, () => download(bench));
    ratios.push(copied.seconds / exported.seconds);
    growths.push((peak - before) / MB);
    progress(
      `round ${round}: export ${describe(exported)}, psql ${describe(copied)}, memory +${growths.at(-1)?.toFixed(1)} MB`,
    );
  }
  const cut = await downloadInParts(bench, firstExport.lines);
  progress(`${cut.parts} parts: ${cut.lost} lines lost, ${cut.doubled} doubled of ${firstExport.lines}`);
  return [
    atLeast(MIN_RATIO, {
      what: "speed of the bulk export",
      value: median(ratios),
      unit: "×",
      detail: `time of psql's \\copy of the same messages as JSON ÷ time of the export; ${(firstExport.bytes / MB).toFixed(0)} MB, ${firstExport.lines} conversations`,
    }),
    atMost(MAX_MEMORY_GROWTH_MB, {
      what: "memory growth, edge and conversation",
      value: median(growths),
      unit: "MB",
      detail: "peak resident memory during an export minus resident memory before it",
    }),
    atMost(0, {
      what: "lines lost or doubled",
      value: cut.lost + cut.doubled,
      unit: "",
      detail: `an export that was cut ${cut.parts - 1} times and continued by its cursor`,
    }),
  ];
}

const describe = ({ bytes, seconds }: Transfer) => `${(bytes / MB).toFixed(0)} MB in ${seconds.toFixed(1)} s`;

/** Downloads an export. Stops early when `onChunk` returns false. */
async function download(
  { testbed, sso }: OwnersTestbed,
  { cursor = "", onChunk }: { cursor?: string; onChunk?: (chunk: Buffer) => boolean } = {},
): Promise<Transfer & { lines: number }> {
  const url = new URL("/api/conversations/export.ndjson", testbed.system.url());
  if (cursor !== "") url.searchParams.set("cursor", cursor);
  const headers = { authorization: `Bearer ${await requestOwnersToken(sso)}`, "accept-encoding": "identity" };
  const started = performance.now();
  // fetch takes more CPU time per byte, which would slow the services on the same cores.
  const [response] = (await once(get(url, { headers }), "response")) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`the export returned status ${response.statusCode}`);
  let [bytes, lines] = [0, 0];
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1)) lines++;
    if (onChunk?.(chunk) === false) break;
  }
  return { bytes, lines, seconds: (performance.now() - started) / 1_000 };
}

/** Downloads an export in parts: cuts the connection after a random number of lines, and continues from the last complete line. */
async function downloadInParts(bench: OwnersTestbed, expectedLines: number) {
  const sessions = new Set<string>();
  let [parts, doubled, cursor] = [0, 0, ""];
  for (let isComplete = false; !isComplete; ) {
    await sleep(PAUSE_BETWEEN_EXPORTS_MS);
    const linesUntilCut =
      parts < MAX_CUTS ? Math.ceil((Math.random() * 2 * expectedLines) / (MAX_CUTS + 1)) : Number.POSITIVE_INFINITY;
    let [incompleteLine, lines] = ["", 0];
    const decoder = new TextDecoder();
    await download(bench, {
      cursor,
      onChunk: (chunk) => {
        const texts = (incompleteLine + decoder.decode(chunk, { stream: true })).split("\n");
        incompleteLine = texts.pop() ?? "";
        for (const text of texts) {
          const line = JSON.parse(text) as { session: { id: string }; cursor: string };
          if (sessions.has(line.session.id)) doubled++;
          sessions.add(line.session.id);
          cursor = line.cursor;
        }
        lines += texts.length;
        return lines < linesUntilCut;
      },
    });
    isComplete = lines < linesUntilCut;
    parts++;
  }
  return { parts, doubled, lost: expectedLines - sessions.size };
}

function copyMessages({ testbed }: OwnersTestbed): Promise<Transfer> {
  return copyWithPsql(
    testbed.system.database.url,
    `SELECT row_to_json(m) FROM conversation.messages m WHERE workspace_id = '${CONSOLE_WORKSPACE}' ORDER BY session_id, message_id`,
  );
}
