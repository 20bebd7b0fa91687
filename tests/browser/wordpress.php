<?php
// Renders a page as WordPress does, with the files of an installation but without its database: php wordpress.php <ABSPATH> <plugin>.
define( 'ABSPATH', $argv[1] . '/' );
define( 'WPINC', 'wp-includes' );
foreach ( array( 'plugin', 'load', 'functions', 'formatting', 'kses', 'theme', 'script-loader', 'general-template' ) as $part ) {
	require_once ABSPATH . WPINC . "/$part.php";
}
// What is asked of the database otherwise.
add_filter( 'pre_option_blog_charset', fn() => 'UTF-8' );

require $argv[2];
?>
<!doctype html>
<html lang="en">
	<head><meta charset="utf-8"><title>A blog</title><link rel="icon" href="data:,"></head>
	<body><main><h1>A blog</h1></main><?php wp_footer(); ?></body>
</html>
