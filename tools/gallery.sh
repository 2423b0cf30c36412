#!/bin/sh
# The gallery at full size into a folder: sh tools/gallery.sh PART OUT [PLISSE]. PART is `drapes`, whose levels are made
# by subdivision, or `shells`, whose levels are found by decimation. Every accepted state is checked for intersections;
# pictures of all levels side by side are OUT/NAME/levels.png. Further words are passed on to `run`.
part=$1
out=$2
plisse=${3:-plisse}
scenes=$(dirname "$0")/../src/plisse/gallery
shift 2; [ $# -gt 0 ] && shift

run() { # NAME SCENE OVERRIDES…
    name=$1; scene=$2; shift 2
    echo "== $name"
    "$plisse" run "$scenes/$scene.toml" --out "$out/$name" --overwrite --check-every 1 "$@" || failed="$failed $name"
}

drapes() {
    run sphere 05-sphere "$@"
    run cube 06-cube --set solver.tol=0.05 "$@" && cp "$out/cube/preview.png" "$out/cube-tol-0.05.png"
    for tol in 0.01 0.001; do
        "$plisse" refine "$out/cube" --tol $tol --check-every 1 && cp "$out/cube/preview.png" "$out/cube-tol-$tol.png" || failed="$failed cube-$tol"
    done
    run bunny 07-bunny "$@"
    run dragon 08-dragon "$@"
    for material in cotton wool wool-lycra polyester rubber; do
        run "material-$material" 09-materials --set "shell.material=$material" "$@"
    done
    run material-tissue 09-materials --set 'shell.material={preset="paper",thickness=5e-5,E=3e7,E_bend=3e9}' "$@"
    run material-silk 09-materials --set 'shell.material={density=400,thickness=1.2e-4,E=3e5,nu=0.3,E_bend=1.5e5}' "$@"
    for bending in 8.21e4 8.21e5 8.21e6; do
        run "bending-$bending" 10-bending --set "shell.material.E_bend=$bending" "$@"
    done
    run ribbon 11-ribbon "$@"
    run still-life 12-still-life "$@"
    for diagonals in uniform alternating jittered delaunay equilateral; do
        run "triangulation-$diagonals" 13-triangulations --set "shell.diagonals=$diagonals" "$@"
    done
    run hat 14-hat "$@"
    run strain-limit 15-strain-limit "$@"
}

shells() {
    for scene in "$scenes"/1[6-9]-*.toml "$scenes"/2*.toml; do
        scene=$(basename "$scene" .toml)
        run "${scene#*-}" "$scene" "$@"
    done
}

case $part in
    drapes | shells) "$part" "$@" ;;
    *) echo "there is no part \"$part\": choose drapes or shells" >&2; exit 2 ;;
esac
[ -z "$failed" ] || { echo "not in equilibrium or failed:$failed" >&2; exit 1; }
