/** The console's message to the preview: the bot, and its display configuration in the format of the widget's config endpoint. */
export type PreviewMessage = {
  botSlug: string;
  display: {
    name: string;
    welcome_message: string;
    logo_url: string;
    primary_color: string;
    position: string;
    theme_mode: string;
    font_family: string;
    border_radius: number;
    quick_replies: readonly string[];
    custom_css_vars: Readonly<Record<string, string>>;
    texts: Readonly<
      Record<
        string,
        { welcome_message?: string; quick_replies?: readonly string[]; words: Readonly<Record<string, string>> }
      >
    >;
  };
};
