import { readOpenState, tryStorage } from "../shared/open-state.ts";
import type { Identity, Panel, PanelContext, Visitor } from "../shared/types.ts";
import type { ParleyApi } from "./api.ts";
import { fetchConfig } from "./fetch-config.ts";
import { keepInPage } from "./keep-in-page.ts";
import { createLauncher, type Launcher } from "./launcher.ts";
import { loadModule, loadPanel } from "./load-panel.ts";
import type { Options } from "./options.ts";
import { fetchLoadError } from "./words.ts";

const textOf = (id: unknown) => (typeof id === "object" ? "" : String(id ?? ""));
/** Starts the widget: fetches the configuration and shows the launcher. Loads the panel when it is first opened. */
export function startWidget(options: Options): ParleyApi {
  const { base, publicKey } = options;
  const lifetime = new AbortController();
  const { signal } = lifetime;
  const visitor: Identity = {};
  let launcher: Launcher | undefined;
  let panelLoading: Promise<Panel> | undefined;
  let panel: Panel | undefined;
  /** Whether the panel is open or will open when it has loaded. */
  let isOpen = readOpenState(publicKey, options.shouldOpen);
  let isShown = false;
  /** False if the page's load opened the panel, which then does not take the focus. */
  let takesFocus = false;

  const emit: PanelContext["emit"] = (name, detail) =>
    void document.dispatchEvent(new CustomEvent(`parley:${name}`, { detail }));

  const showPanel = async (parts: Launcher) => {
    const { root, button, loadError } = parts;
    loadError.remove();
    button.setAttribute("aria-busy", "true");
    try {
      panelLoading ??= loadPanel(options).then(({ mount }) =>
        mount({
          ...options,
          ...parts,
          visitor,
          signal,
          emit,
          close: api.close,
          load: (file) => loadModule(file, options),
        }),
      );
      panel = await panelLoading;
      // Several clicks may have waited for the panel.
      if (isOpen && !isShown) {
        isShown = true;
        panel.show(takesFocus);
        emit("open", {});
      }
    } catch (error) {
      console.warn("Parley:", error);
      panelLoading = undefined;
      isOpen = false;
      loadError.textContent = await fetchLoadError(base, options.lang);
      root.append(loadError);
    }
    button.removeAttribute("aria-busy");
  };

  const api: ParleyApi = {
    publicKey,
    open() {
      if (!isOpen || !panelLoading) {
        isOpen = true;
        takesFocus = true;
        if (launcher) {
          void showPanel(launcher);
        }
      }
    },
    close() {
      isOpen = false;
      if (isShown) {
        isShown = false;
        panel?.hide();
        emit("close", {});
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
      const handle = (event: Event) => listener((event as CustomEvent).detail);
      document.addEventListener(`parley:${name}`, handle, { signal });
      return () => document.removeEventListener(`parley:${name}`, handle);
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
      visitor.visitorId = visitor.visitorToken = visitor.metadata = undefined;
      // Without storage, only the panel has a session.
      tryStorage(() => localStorage.setItem(`parley:${publicKey}`, `${Date.now()}`));
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
    keepInPage(launcher.element, signal, () => panel?.restored());
    emit("ready", {});
    if (isOpen) {
      void showPanel(launcher);
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
      const target = (event.target as Element).closest<HTMLElement>("[data-parley],[data-parley-send]");
      const { parley = "", parleySend } = target?.dataset ?? {};
      if (parleySend) {
        api.send(parleySend);
      } else if (/^(open|close|toggle)$/.test(parley)) {
        api[parley as "open"]();
      }
    },
    { signal },
  );
  return api;
}
