import * as Menu from "@radix-ui/react-dropdown-menu";
import { type ReactNode, useState } from "react";
import { Icon } from "./components/icon.tsx";
import { applyTheme, readTheme, THEMES, type Theme } from "./components/theme.ts";
import { useSignOut } from "./components/use-sign-out.ts";
import { changeLanguage, getDirection, getLanguage, LANGUAGES, nameInItself } from "./i18n/language.ts";
import { t } from "./i18n/t.tsx";

const THEME_NAMES: Readonly<Record<Theme, string>> = { system: t("System"), light: t("Light"), dark: t("Dark") };

/** `children` is the content of the button that opens the menu. */
export function UserMenu({ children }: { children: ReactNode }) {
  const [theme, setTheme] = useState(readTheme);
  const choose = (value: string) => {
    applyTheme(value as Theme);
    setTheme(value as Theme);
  };
  const onSignOut = useSignOut();
  return (
    <Menu.Root modal={false} dir={getDirection()}>
      <Menu.Trigger className="user-menu">{children}</Menu.Trigger>
      <Menu.Content className="menu" side="top" align="start" sideOffset={6}>
        <Menu.Label className="menu-label">{t("Theme")}</Menu.Label>
        <Menu.RadioGroup value={theme} onValueChange={choose}>
          {THEMES.map((each) => (
            <Choice key={each} value={each}>
              {THEME_NAMES[each]}
            </Choice>
          ))}
        </Menu.RadioGroup>
        <Menu.Separator className="menu-separator" />
        <Menu.Label className="menu-label">{t("Language")}</Menu.Label>
        <Menu.RadioGroup className="menu-scroll" value={getLanguage()} onValueChange={changeLanguage}>
          {LANGUAGES.map((each) => (
            <Choice key={each} value={each} lang={each}>
              {nameInItself(each)}
            </Choice>
          ))}
        </Menu.RadioGroup>
        <Menu.Separator className="menu-separator" />
        <Menu.Item className="menu-item" onSelect={onSignOut}>
          {t("Sign out")}
          <Icon name="exit" />
        </Menu.Item>
      </Menu.Content>
    </Menu.Root>
  );
}

function Choice({ children, ...item }: { value: string; lang?: string; children: string }) {
  return (
    <Menu.RadioItem {...item} className="menu-item">
      {children}
      <Menu.ItemIndicator>
        <Icon name="check" />
      </Menu.ItemIndicator>
    </Menu.RadioItem>
  );
}
