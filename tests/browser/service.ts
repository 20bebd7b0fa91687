import { randomUUID } from "node:crypto";
import type { BotConfig } from "../../packages/widget/src/shared/types.ts";
import { type AdminClients, createAdminClients } from "../system/admin.ts";
import type { ProvidedSystem } from "./global-setup.ts";
import { type Ingress, startIngress } from "./ingress.ts";

const BOT: BotConfig = {
  name: "Sample Shop",
  welcome_message: "Hello! I know our **delivery**, *returns* and materials. What would you like to know?",
  logo_url: "",
  primary_color: "#2f5fd0",
  position: "bottom-right",
  theme_mode: "light",
  font_family: "system-ui",
  border_radius: 16,
  quick_replies: ["How long does delivery take?", "Can I return something?"],
  custom_css_vars: {},
};

/** A bot with a key for pages on `http://localhost`. */
export interface TestBot {
  readonly publicKey: string;
  readonly slug: string;
}

/** One test file's ingress, bot and admin clients. */
export class Service {
  readonly system: ProvidedSystem;
  readonly admin: AdminClients;
  readonly #ingress: Ingress;
  readonly bot: TestBot;

  private constructor(system: ProvidedSystem, admin: AdminClients, ingress: Ingress, bot: TestBot) {
    this.system = system;
    this.admin = admin;
    this.#ingress = ingress;
    this.bot = bot;
  }

  static async open(system: ProvidedSystem): Promise<Service> {
    const admin = createAdminClients(system.opsPorts);
    return new Service(
      system,
      admin,
      await startIngress(system.edgeUrl),
      await createBot(admin, system.workspaceId, {}),
    );
  }

  /** The origin at which visitors reach Parley. */
  get url(): string {
    return this.#ingress.url;
  }

  addBot(changes: Partial<BotConfig>): Promise<TestBot> {
    return createBot(this.admin, this.system.workspaceId, changes);
  }

  /** Returns one field of each message in a session's transcript. A transcript does not contain open turns. */
  async readTranscriptField(sessionId: unknown, field: "status" | "rating" | "content"): Promise<unknown[]> {
    const { workspaceId } = this.system;
    const chunks: Uint8Array[] = [];
    const responses = this.admin.sessions.getTranscript({ workspaceId, sessionId: String(sessionId) });
    for await (const { json } of responses) chunks.push(json);
    const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as { messages: Record<string, unknown>[] };
    return messages.map((message) => message[field]);
  }

  /** Gives all later requests a new client address, which has its own rate limit. */
  nextVisitor(): void {
    this.#ingress.nextVisitor();
  }

  /** Closes the connections between visitors and the ingress. */
  cutConnections(): void {
    this.#ingress.cutConnections();
  }

  close(): Promise<void> {
    return this.#ingress.close();
  }
}

async function createBot(admin: AdminClients, workspaceId: string, changes: Partial<BotConfig>): Promise<TestBot> {
  const bot = { ...BOT, ...changes };
  const slug = `bot-${randomUUID().slice(0, 8)}`;
  await admin.bots.createBot({
    workspaceId,
    slug,
    changes: {
      model: "openai:default",
      name: bot.name,
      welcomeMessage: bot.welcome_message,
      logoUrl: bot.logo_url,
      primaryColor: bot.primary_color,
      position: bot.position,
      themeMode: bot.theme_mode,
      fontFamily: bot.font_family,
      borderRadius: bot.border_radius,
      quickReplies: { values: [...bot.quick_replies] },
      customCssVars: { values: bot.custom_css_vars },
    },
  });
  const { key } = await admin.keys.createKey({ workspaceId, botSlug: slug, domains: ["localhost"] });
  return { slug, publicKey: key?.publicKey ?? "" };
}
