import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AdminError, type CallAdmin, formatCount, listAllSources } from "@parley/cli";
import { BotAdminService, KeyAdminService, KnowledgeAdminService } from "@parley/rpc/conversation";
import { WorkspaceAdminService } from "@parley/rpc/quota";
import { type Document, readDocumentation } from "./documentation.ts";
import { systemCode } from "./errors.ts";
import { buildShopDocument, readTranslations } from "./shop-document.ts";

export type Demo = {
  publicKey: string;
  documents: DocumentChanges;
};

/** Numbers of documents. */
type DocumentChanges = { added: number; updated: number; removed: number };

export const DEMO = { workspaceId: "demo", botSlug: "demo" };
const DOMAINS = ["localhost", "127.0.0.1"];
/** Matches localhost without a port: an allowed domain that covers every port of http://localhost, including the sample shop's port. */
const LOCALHOST = /^(?:http:\/\/)?localhost$/;
/**
 * Stores the digest of each sent document, to detect changes. The conversation service stores only a document's extracted text, which cannot be
 * compared with the document.
 */
const DIGESTS_FILE = "demo-documents.json";

/**
 * Creates the workspace "Demo", a bot with Parley's documentation and the sample shop as knowledge, and a key for pages on this
 * machine. Keeps the bot and the key if they exist, including the user's changes. Sends the documents that changed or are missing, and removes
 * obsolete ones. Returns undefined if the user has deleted the workspace, because its ID cannot be used again.
 */
export async function ensureDemo(callAdmin: CallAdmin, dataDir: string): Promise<Demo | undefined> {
  if (!(await ensureWorkspace(callAdmin))) return undefined;
  await ensureBot(callAdmin);
  const [publicKey, documents] = await Promise.all([ensureKey(callAdmin), syncDocuments(callAdmin, dataDir)]);
  return { publicKey, documents };
}

/** Returns false if the workspace is deleted. */
async function ensureWorkspace(callAdmin: CallAdmin): Promise<boolean> {
  return callAdmin(WorkspaceAdminService, async (service) => {
    const { workspaces } = await service.listWorkspaces({});
    const workspace = workspaces.find(({ id }) => id === DEMO.workspaceId);
    if (workspace !== undefined) return workspace.deletedAt === "";
    await service.createWorkspace({ id: DEMO.workspaceId, name: "Demo", plan: "free" });
    return true;
  });
}

async function ensureBot(callAdmin: CallAdmin): Promise<void> {
  const { workspaceId, botSlug: slug } = DEMO;
  try {
    await callAdmin(BotAdminService, (service) => service.getBot({ workspaceId, slug }));
  } catch (error) {
    if (!(error instanceof AdminError) || error.code !== "bot_not_found") throw error;
    const changes = {
      name: "Parley guide",
      welcomeMessage: "Hello! Ask me about Parley, whose documentation I have read, or about what this shop sells.",
      quickReplies: { values: ["What is Parley?", "How do I add my own documents?", "How do I embed the widget?"] },
      systemPrompt:
        "You answer questions about Parley from its documentation, and about the sample shop, briefly and exactly.",
    };
    await callAdmin(BotAdminService, (service) => service.createBot({ workspaceId, slug, changes }));
  }
}

async function ensureKey(callAdmin: CallAdmin): Promise<string> {
  return callAdmin(KeyAdminService, async (service) => {
    const { keys } = await service.listKeys({ workspaceId: DEMO.workspaceId });
    const usable = keys.find(
      (key) =>
        key.botSlug === DEMO.botSlug &&
        key.revokedAt === "" &&
        key.allowedDomains.some((domain) => LOCALHOST.test(domain)),
    );
    if (usable) return usable.publicKey;
    const { key } = await service.createKey({ ...DEMO, domains: DOMAINS });
    return key?.publicKey ?? "";
  });
}

async function syncDocuments(callAdmin: CallAdmin, dataDir: string): Promise<DocumentChanges> {
  const documents = [...(await readDocumentation()), buildShopDocument(), ...(await readTranslations())];
  const digestsPath = join(dataDir, DIGESTS_FILE);
  const digests = await readDigests(digestsPath);
  const { sources } = await callAdmin(KnowledgeAdminService, (service) => listAllSources(service, DEMO));
  const stored = new Set(sources.map(({ name }) => name));
  const isUpToDate = ({ name, digest }: Document) => stored.has(name) && digests[name] === digest;
  const isObsolete = (name: string) => stored.has(name) && documents.every((document) => document.name !== name);

  const toSend = documents.filter((document) => !isUpToDate(document));
  for (const { name, content } of toSend) {
    await callAdmin(KnowledgeAdminService, (service) => service.addSource({ ...DEMO, name, format: "md", content }));
  }
  // Documents that the user added are not in `digests`, so they stay.
  const obsolete = Object.keys(digests).filter(isObsolete);
  for (const name of obsolete) {
    await callAdmin(KnowledgeAdminService, (service) => service.removeSource({ ...DEMO, name }));
  }
  const currentDigests = Object.fromEntries(documents.map(({ name, digest }) => [name, digest]));
  await writeFile(digestsPath, `${JSON.stringify(currentDigests, undefined, 2)}\n`);
  const updated = toSend.filter(({ name }) => stored.has(name)).length;
  return { added: toSend.length - updated, updated, removed: obsolete.length };
}

async function readDigests(path: string): Promise<Record<string, string>> {
  try {
    return (JSON.parse(await readFile(path, "utf8")) as Record<string, string> | null) ?? {};
  } catch (error) {
    // The file is missing or damaged, so every document is sent again.
    if (error instanceof SyntaxError || systemCode(error) === "ENOENT") return {};
    throw error;
  }
}

export function describeDemo(demo: Demo | undefined): string {
  if (demo === undefined) return "the demo's workspace is deleted, so there is no sample shop";
  const changes = Object.entries(demo.documents).filter(([, count]) => count > 0);
  return changes.map(([change, count]) => `${formatCount(count, "document")} ${change}`).join(", ") || "unchanged";
}
