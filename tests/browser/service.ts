import { randomUUID } from "node:crypto";
import type { BotConfig } from "../../packages/widget/src/shared/types.ts";
import { type Admin, adminClients } from "../system/admin.ts";
import type { ProvidedSystem } from "./global-setup.ts";
import { type Ingress, startIngress } from "./ingress.ts";

/** How the tests' bot is shown. */
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

/** The service as a test file uses it: through its ingress as visitors do, and by the admin services as operators do. */
export class Service {
  readonly system: ProvidedSystem;
  readonly admin: Admin;
  readonly #ingress: Ingress;
  readonly bot: TestBot;

  private constructor(system: ProvidedSystem, admin: Admin, ingress: Ingress, bot: TestBot) {
    this.system = system;
    this.admin = admin;
    this.#ingress = ingress;
    this.bot = bot;
  }

  /** Opens an ingress and makes a bot for a test file. */
  static async open(system: ProvidedSystem): Promise<Service> {
    const admin = adminClients(system.opsPorts);
    return new Service(system, admin, await startIngress(system.edgeUrl), await makeBot(admin, system.workspaceId, {}));
  }

  /** The service's public origin. */
  get url(): string {
    return this.#ingress.url;
  }

  /** Makes a further bot, which answers as the first does; what is left out is as there. */
  addBot(changes: Partial<BotConfig>): Promise<TestBot> {
    return makeBot(this.admin, this.system.workspaceId, changes);
  }

  /** A field of each of a session's messages as the transcript has it; turns that are under way are not in it. */
  async transcript(sessionId: unknown, field: "status" | "rating" | "content"): Promise<unknown[]> {
    const { workspaceId } = this.system;
    const parts: Uint8Array[] = [];
    const pieces = this.admin.sessions.getTranscript({ workspaceId, sessionId: String(sessionId) });
    for await (const { json } of pieces) parts.push(json);
    const { messages } = JSON.parse(Buffer.concat(parts).toString()) as { messages: Record<string, unknown>[] };
    return messages.map((message) => message[field]);
  }

  /** The next visitor has an allowance of requests of their own. */
  nextVisitor(): void {
    this.#ingress.nextVisitor();
  }

  close(): Promise<void> {
    return this.#ingress.close();
  }
}

async function makeBot(admin: Admin, workspaceId: string, changes: Partial<BotConfig>): Promise<TestBot> {
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
