#!/bin/sh
# The gallery at full size into a folder: sh tools/gallery.sh PART OUT [PLISSE]. PART is `drapes`, whose levels are made
# by subdivision, `shells`, whose levels are found by decimation, or `motions`. Every accepted state is checked for
# intersections; pictures of all levels side by side are OUT/NAME/levels.png. Further words are passed on to `run`.
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

motions() {
    for scene in 30-gear 31-bouncy-cube 32-flag 33-jumble 34-ball-drop 35-laundry 36-spin-cycle 38-octocats 39-sky-dancers \
        40-duck 44-flag-dense 47-hats; do
        run "${scene#*-}" "$scene" "$@"
    done
    # as large as published
    run toy-toss 37-toy-toss --set shell.resolution=165 --set hierarchy.levels=4 "$@"
    run balloons 45-balloons --set shell.0.resolution=258 --set shell.1.resolution=258 "$@"
    run trampolines-4 41-trampolines "$@"
    run trampolines-8 41-trampolines --set hierarchy.levels=8 --set hierarchy.ratio=1.81 "$@"
    run bunny-drop-8 42-bunny-drop "$@"
    run bunny-drop-16 42-bunny-drop --set hierarchy.levels=16 --set hierarchy.ratio=1.314 "$@"
    run cow-drop-thin 43-cow-drop "$@"
    run cow-drop-thick 43-cow-drop --set shell.material.thickness=4e-4 "$@"
    for w in 0 0.1 0.25 0.5; do
        run "jumble-pile-$w" 46-jumble-pile --set "hierarchy.consistency=$w" "$@"
    done
}

case $part in
    drapes | shells | motions) "$part" "$@" ;;
    *) echo "there is no part \"$part\": choose drapes, shells or motions" >&2; exit 2 ;;
esac
[ -z "$failed" ] || { echo "not solved or failed:$failed" >&2; exit 1; }
