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

applyTheme(readTheme());
void openLanguage().then(() => import("./app.tsx"));
