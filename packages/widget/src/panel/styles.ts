import composerCss from "./composer.css";
import messageCss from "./message.css";
import panelCss from "./panel.css";

export const PANEL_CSS = panelCss + messageCss + composerCss;
