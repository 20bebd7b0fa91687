/** The languages of the widget's texts: English, which is built in, and those of the files in src/lang. */
export const WIDGET_LANGUAGES =
  "ar cs da de el en es fi fr he hi hu id it ja ko nb nl pl pt pt-pt ro ru sv tr uk vi zh zh-hant".split(" ");
