<?php
// Renders a page with the files of a WordPress installation, without its database. Usage: php wordpress.php <ABSPATH> <plugin>
define( 'ABSPATH', $argv[1] . '/' );
define( 'WPINC', 'wp-includes' );
foreach ( array( 'plugin', 'load', 'functions', 'formatting', 'kses', 'theme', 'script-loader', 'general-template' ) as $part ) {
	require_once ABSPATH . WPINC . "/$part.php";
}
// WordPress reads this option from the database.
add_filter( 'pre_option_blog_charset', fn() => 'UTF-8' );

require $argv[2];
?>
<!doctype html>
<html lang="en">
	<head><meta charset="utf-8"><title>A blog</title><link rel="icon" href="data:,"></head>
	<body><main><h1>A blog</h1></main><?php wp_footer(); ?></body>
</html>
