import composerCss from "./composer.css";
import messageCss from "./message.css";
import panelCss from "./panel.css";

/** The panel's style sheets as one text. */
export const PANEL_CSS = panelCss + messageCss + composerCss;
