import "./styles/base.css";
import "./styles/frame.css";
import "./styles/surfaces.css";
import "./styles/controls.css";
import "./styles/editor.css";
import "./styles/usage.css";
import "./styles/dialogs.css";
import "./styles/sign-in.css";
// Last, because they override rules of the other files.
import "./styles/narrow.css";
import "./styles/forced-colors.css";
import { applyTheme, readTheme } from "./components/theme.ts";
import { openLanguage } from "./i18n/language.ts";
import { t } from "./i18n/translate.ts";

applyTheme(readTheme());
openLanguage()
  .then(() => import("./app.tsx"))
  .catch((error: unknown) => {
    console.error(error);
    showLoadFailure();
  });

/** Without React, because its code may be what could not be loaded. */
function showLoadFailure(): void {
  const text = t("A part of the console could not be loaded. It may have been updated. Reload the page.");
  const heading = Object.assign(document.createElement("h1"), { textContent: "Parley" });
  const message = Object.assign(document.createElement("p"), { role: "alert", textContent: text });
  const button = Object.assign(document.createElement("button"), {
    className: "button",
    textContent: t("Reload the page"),
  });
  button.addEventListener("click", () => location.reload());
  const screen = document.createElement("main");
  screen.className = "centered";
  screen.append(heading, message, button);
  document.querySelector("#root")?.replaceChildren(screen);
}
