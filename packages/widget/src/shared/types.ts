// What the launcher and the panel say to each other. A page that was open during an upgrade joins an old launcher with a
// new panel, so members are added here and never changed or removed.

export type { HashedFile } from "./hashed-file.ts";

/** The bot's display configuration, as the service sends it. */
export interface BotConfig {
  readonly name: string;
  readonly welcome_message: string;
  readonly logo_url: string;
  readonly primary_color: string;
  readonly position: string;
  readonly theme_mode: string;
  readonly font_family: string;
  readonly border_radius: number;
  readonly quick_replies: readonly string[];
  readonly custom_css_vars: Readonly<Record<string, string>>;
}

/** Who the page says the visitor is; sent with every message. */
export interface Visitor {
  visitorId?: string | undefined;
  metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** What `Parley.on` can be told of. */
export interface WidgetEvents {
  ready: Record<string, never>;
  open: Record<string, never>;
  close: Record<string, never>;
  message: { role: "user" | "assistant"; text: string };
  error: { code: string };
  new: Record<string, never>;
}

/** What the panel gets from the launcher. */
export interface PanelContext {
  /** The service's URL, ending in a slash. */
  readonly base: string;
  readonly publicKey: string;
  /** The language asked for, as a BCP 47 tag. */
  readonly lang: string;
  readonly bot: BotConfig;
  /** The element in the shadow root that everything stands in. */
  readonly root: HTMLElement;
  /** The launcher. */
  readonly button: HTMLButtonElement;
  readonly visitor: Visitor;
  /** Aborted when the widget is destroyed. */
  readonly signal: AbortSignal;
  emit<Name extends keyof WidgetEvents>(name: Name, detail: WidgetEvents[Name]): void;
  /** Asks the launcher to close the panel. */
  close(): void;
}

/** What the launcher can ask of the panel. */
export interface Panel {
  /** Shows the panel; with `focus`, for a visitor who asked for it, the keyboard goes there. */
  show(focus: boolean): void;
  hide(): void;
  send(text: string): void;
  /** The page has put the widget back where something had removed it; scroll positions were lost. */
  restored(): void;
}

/** What the panel's module exports. */
export interface PanelModule {
  mount(context: PanelContext): Promise<Panel>;
}
