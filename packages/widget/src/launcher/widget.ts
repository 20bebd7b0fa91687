import type { Identity, Panel, PanelContext, Visitor } from "../shared/types.ts";
import type { ParleyApi } from "./api.ts";
import { fetchConfig } from "./fetch-config.ts";
import { keepInPage } from "./keep-in-page.ts";
import { createLauncher, type Launcher } from "./launcher.ts";
import { loadPanel } from "./load-panel.ts";
import type { Options } from "./options.ts";

const textOf = (id: unknown) => (typeof id === "object" ? "" : String(id ?? ""));

/** Starts the widget: fetches the configuration and shows the launcher. Loads the panel when it is first opened. */
export function startWidget(options: Options): ParleyApi {
  const { base, publicKey } = options;
  const lifetime = new AbortController();
  const { signal } = lifetime;
  const visitor: Identity = {};
  let context: PanelContext | undefined;
  let launcher: Launcher | undefined;
  let panelLoading: Promise<Panel> | undefined;
  let panel: Panel | undefined;
  /** Whether the panel is open or will open when it has loaded. */
  let isOpen = options.shouldOpen;
  /**
   * The element that had the focus before the panel opened. If the widget has the focus when the panel closes, the focus returns to this element
   * or, if that is impossible, to the launcher's button. Null if data-open opened the panel.
   */
  let opener: HTMLElement | null = null;

  const emit: PanelContext["emit"] = (name, detail) =>
    void document.dispatchEvent(new CustomEvent(`parley:${name}`, { detail }));

  const showPanel = async (panelContext: PanelContext, { button, showError }: Launcher) => {
    showError(false);
    button.ariaBusy = "true";
    try {
      panelLoading ??= loadPanel(options).then((module) => module.mount(panelContext));
      panel = await panelLoading;
      // Several clicks may have waited for the panel.
      if (isOpen && button.ariaExpanded === "false") {
        button.ariaExpanded = "true";
        panel.show(opener !== null);
        emit("open", {});
      }
    } catch (error) {
      console.warn("Parley:", error);
      panelLoading = undefined;
      isOpen = false;
      showError(true);
    }
    button.ariaBusy = null;
  };

  const api: ParleyApi = {
    publicKey,
    open() {
      if (!isOpen || !panelLoading) {
        isOpen = true;
        opener = document.activeElement as HTMLElement | null;
        if (context && launcher) {
          void showPanel(context, launcher);
        }
      }
    },
    close() {
      const hadFocus = launcher?.element.shadowRoot?.activeElement;
      isOpen = false;
      if (launcher?.button.ariaExpanded === "true") {
        launcher.button.ariaExpanded = "false";
        panel?.hide();
        emit("close", {});
        if (hadFocus) {
          const canFocusOpener = opener?.isConnected && opener !== launcher.element && opener !== document.body;
          (canFocusOpener ? opener : launcher.button)?.focus();
        }
      }
    },
    toggle: () => (isOpen ? api.close() : api.open()),
    send(text) {
      api.open();
      // The configuration and the panel may still be loading.
      void ready
        .then(() => panelLoading)
        .then(
          (loadedPanel) => loadedPanel?.send(text),
          () => undefined,
        );
    },
    on(name, listener) {
      const subscription = new AbortController();
      document.addEventListener(`parley:${name}`, (event) => listener((event as CustomEvent).detail), {
        signal: AbortSignal.any([signal, subscription.signal]),
      });
      return () => subscription.abort();
    },
    identify(changes) {
      const given = Object(changes ?? { visitorId: undefined }) as Visitor;
      if ("visitorId" in given) {
        const id = textOf(visitor.visitorId);
        if (given.visitorId === null || (id && id !== textOf(given.visitorId))) {
          api.reset();
        }
        visitor.since = Date.now();
      }
      Object.assign(visitor, given);
      panel?.identified();
    },
    reset() {
      visitor.visitorId = visitor.metadata = undefined;
      try {
        localStorage.setItem(`parley:${publicKey}`, String(Date.now()));
      } catch {
        // Without storage, only the panel has a session.
      }
      panel?.reset();
    },
    destroy() {
      lifetime.abort();
      if (window.Parley === api) {
        delete window.Parley;
      }
    },
  };

  api.identify(options.visitor);

  const start = async () => {
    const bot = await fetchConfig(base, publicKey, signal);
    if (document.readyState === "loading") {
      await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve));
    }
    signal.throwIfAborted();
    launcher = createLauncher(bot, options, api.toggle);
    context = {
      base,
      publicKey,
      lang: options.lang,
      bot: { ...bot, theme_mode: options.theme ?? bot.theme_mode },
      root: launcher.root,
      button: launcher.button,
      visitor,
      signal,
      emit,
      close: api.close,
    };
    keepInPage(launcher.element, signal, () => panel?.restored());
    emit("ready", {});
    if (isOpen) {
      void showPanel(context, launcher);
    }
  };
  const ready = start().catch(({ message }: Error) => {
    if (!signal.aborted) {
      console.warn(`Parley: ${message}`);
      emit("error", { code: message });
    }
  });

  // Pages can use attributes instead of this API: data-parley="open", data-parley-send="What do you sell?".
  document.addEventListener(
    "click",
    (event) => {
      const action = (event.target as Element).closest<HTMLElement>("[data-parley],[data-parley-send]")?.dataset;
      if (action?.parleySend) {
        api.send(action.parleySend);
      } else if (/^(open|close|toggle)$/.test(action?.parley ?? "")) {
        api[action?.parley as "open"]();
      }
    },
    { signal },
  );
  return api;
}
